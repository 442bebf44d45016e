// Starts the whole service as a process for tests from outside, which use only REST, MQTT and /ws. With
// TEST_PROFILE=cluster it runs the cluster profile, with its own servers.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../engine/adapters/testing/free-port.ts'
import { ClusterServers } from './cluster.ts'
import { type Rest, restOf } from './service-rest.ts'

/** The service, which was built before the tests run. */
const MAIN = fileURLToPath(new URL('../../../dist/program/service.js', import.meta.url))
/** The profile for tests that do not name one. */
export const PROFILE = process.env['TEST_PROFILE'] === 'cluster' ? 'cluster' : 'embedded'
/** The account that `Service.admin` registers. */
export const ADMIN = { email: 'admin@example.com', password: 'correct horse battery' }
/** A machine at ten times the load is slow, and no test is red because of it. */
const READY_MS = 240_000
const DEADLINE_MS = 120_000
const APPLIED_MS = 60_000
const LOOK_EVERY_MS = 20

export type Settings = Readonly<Record<`FLEET_${string}`, string>>

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
  readonly stdout: string
}

export interface Service {
  /** Set in the embedded profile. */
  readonly dataDir: string
  readonly httpUrl: string
  readonly mqttUrl: string
  readonly wsUrl: string
  readonly pid: number
  /** REST as an admin, who is registered at the first call. */
  admin(): Promise<Rest>
  /** REST without a login. */
  readonly nobody: Rest
  /** Process id of ClickHouse's engine. */
  databasePid(): number
  /** Sends a signal to the service and its database. */
  signalAll(signal: NodeJS.Signals): void
  kill(signal: NodeJS.Signals): void
  readonly ended: Promise<Exit>
  /** The settings with which `again` starts it. */
  readonly settings: Settings
  /** Starts the service again with the same data directory, ports and settings, once this one has ended. */
  again(settings?: Settings): Promise<Service>
}

/** Polls until the value is neither false nor undefined, and resolves with it. */
export async function until<Value>(
  what: string,
  look: () => Value | undefined | false | Promise<Value | undefined | false>,
  withinMs = DEADLINE_MS,
): Promise<Value> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const value = await look()
    if (value !== undefined && value !== false) return value
    if (performance.now() > deadline) throw new Error(`${what}: not within ${withinMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

/**
 * Checks what must hold once the service has applied an acknowledged message. The embedded profile has applied it at once;
 * a broker outside acknowledges before the log has it.
 */
export async function applied(check: () => Promise<unknown>): Promise<void> {
  for (const deadline = performance.now() + APPLIED_MS; ; ) {
    try {
      await check()
      return
    } catch (error) {
      if (PROFILE === 'embedded' || performance.now() > deadline) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

/** Lets a fault last for a while. To wait for its effects, use `until`. */
export function passed(ms: number): Promise<true> {
  const from = performance.now()
  return until('time passes', () => performance.now() - from >= ms || undefined, ms + DEADLINE_MS)
}

/** Keeps all that a test file starts; `close` ends it in any state. */
export class ServiceHarness {
  readonly #running = new Map<ChildProcess, Promise<Exit>>()
  readonly #folders: string[] = []
  readonly #servers: ClusterServers[] = []
  readonly #cleanUp = () => this.#killAll()

  constructor() {
    process.once('exit', this.#cleanUp)
  }

  /** Creates a folder that `close` removes. */
  newFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'fleet-service-'))
    this.#folders.push(folder)
    return folder
  }

  async start(settings: Settings = {}): Promise<Service> {
    if (PROFILE === 'embedded' || settings['FLEET_PROFILE'] !== undefined) return this.startNode(settings)
    const servers = await ClusterServers.start()
    this.#servers.push(servers)
    const { FLEET_JWT_PRIVATE_KEY: key, ...others } = servers.settings
    const keys = settings['FLEET_JWT_SECRET'] === undefined ? { FLEET_JWT_PRIVATE_KEY: key } : {}
    const { FLEET_DATA_DIR: _, FLEET_MQTT_PORT: __, ...fitting } = settings
    return this.startNode({ ...others, ...keys, ...fitting }, servers)
  }

  /** Starts one process with the profile and roles of these settings. */
  async startNode(settings: Settings, servers?: ClusterServers): Promise<Service> {
    const isCluster = settings['FLEET_PROFILE'] === 'cluster'
    const dataDir = settings['FLEET_DATA_DIR'] ?? join(this.newFolder(), 'data')
    // It may be started again, and its ports are nobody else's meanwhile.
    const http = { FLEET_HTTP_PORT: String(await freePort()) }
    const all: Settings = isCluster
      ? { ...http, ...settings }
      : { ...http, FLEET_MQTT_PORT: String(await freePort()), ...settings, FLEET_DATA_DIR: dataDir }
    const { child, ended, ready } = this.#spawn(all)
    const { http_url: httpUrl, mqtt_url: mqttUrl } = await ready
    const { pid } = child
    if (pid === undefined) throw new Error('a process that is ready has an id')
    const nobody = restOf(httpUrl)
    let admin: Promise<Rest> | undefined
    const databasePid = () => servers?.clickhouse.pid ?? databaseOf(pid)
    return {
      dataDir,
      httpUrl,
      mqttUrl,
      wsUrl: `${httpUrl.replace(/^http/, 'ws')}/ws`,
      pid,
      nobody,
      admin: () => {
        admin ??= logIn(nobody)
        return admin
      },
      databasePid,
      signalAll: (signal) => {
        process.kill(-pid, signal)
        if (servers !== undefined) process.kill(databasePid(), signal)
      },
      kill: (signal) => void process.kill(pid, signal),
      ended,
      settings: all,
      again: async (more) => {
        await ended
        return this.startNode({ ...all, ...more }, servers)
      },
    }
  }

  /** Runs the service to its end, for a start that is refused or interrupted. */
  run(settings: Settings, killAfterMs?: number): Promise<Exit> {
    const all = settings['FLEET_PROFILE'] === 'cluster' ? settings : { FLEET_MQTT_PORT: '0', ...settings }
    const { child, ended, ready } = this.#spawn(all)
    ready.catch(() => undefined)
    if (killAfterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfterMs)
    return ended
  }

  /** Ends all processes. */
  async end(): Promise<void> {
    this.#killAll()
    await Promise.all(this.#running.values())
  }

  async close(): Promise<void> {
    await this.end()
    for (const servers of this.#servers) await servers.stop()
    process.off('exit', this.#cleanUp)
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
  }

  #spawn(settings: Settings) {
    // The settings in the caller's environment must not affect the service.
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('FLEET_'))
    const env = {
      ...Object.fromEntries(inherited),
      FLEET_HTTP_PORT: '0',
      FLEET_LOG_LEVEL: 'warn',
      // Tests are one user with many requests; the limits have their own tests.
      FLEET_USER_REQUEST_RATE: '0',
      FLEET_DEVICE_REQUEST_RATE: '0',
      FLEET_ANONYMOUS_REQUEST_RATE: '0',
      FLEET_USER_WORK_RATE: '0',
      ...(settings['FLEET_PROFILE'] === 'cluster' ? {} : { FLEET_DEVICE_PUBLISH_RATE: '0' }),
      ...settings,
    }
    // Its own process group, so that a signal can reach all of it.
    const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let stdout = ''
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    const ended = new Promise<Exit>((resolve) => {
      child.once('close', (code, signal) => {
        this.#running.delete(child)
        resolve({ code, signal, stdout, stderr })
      })
    })
    this.#running.set(child, ended)
    const ready = new Promise<ReadyLine>((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`not ready in time: ${stdout}${stderr}`)),
        READY_MS,
      ).unref()
      createInterface({ input: child.stdout }).on('line', (line) => {
        stdout += `${line}\n`
        const said = parseReady(line)
        if (said === undefined) return
        clearTimeout(late)
        resolve(said)
      })
      void ended.then(() => reject(new Error(`ended before it was ready: ${stdout}${stderr}`)))
    })
    return { child, ended, ready }
  }

  #killAll(): void {
    for (const child of this.#running.keys()) {
      // Right after its start the process does not lead its group yet.
      child.kill('SIGKILL')
      if (child.pid !== undefined) killGroup(child.pid)
    }
  }
}

interface ReadyLine {
  readonly http_url: string
  readonly mqtt_url: string
}

function parseReady(line: string): ReadyLine | undefined {
  if (!line.includes('"msg":"ready"')) return undefined
  // The ready line is part of the contract; a wrong shape fails the tests.
  return JSON.parse(line) as ReadyLine
}

async function logIn(nobody: Rest): Promise<Rest> {
  await nobody.post('/auth/register', { ...ADMIN, name: 'Admin', role: 'admin' })
  const { status, body } = await nobody.post('/auth/login', ADMIN)
  if (status !== 200) throw new Error(`no login: ${JSON.stringify(body)}`)
  return nobody.as(String(body['access_token']))
}

/** Finds the child of the service that runs ClickHouse's engine. */
export function databaseOf(parent: number): number {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' })
  for (const line of table.split('\n')) {
    const [, pid, ppid, stat, args = ''] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    if (Number(ppid) === parent && !stat?.startsWith('Z') && args.includes('chdb-server')) return Number(pid)
  }
  throw new Error('there is no database process')
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}
