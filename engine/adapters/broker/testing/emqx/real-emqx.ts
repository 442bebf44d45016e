// For tests: an EMQX of its own, from the installation that TEST_EMQX_HOME names (the folder with `bin/emqx` of EMQX 5.8.9,
// such as /opt/emqx of its image). It runs deploy/emqx/emqx.conf and acl.conf, changed as test-conf.ts says, in a folder of
// its own: the installation is only read. `bin/emqx` takes `etc`, `data` and `log` from BASE_RUNNER_ROOT_DIR.
import { type ChildProcess, spawn } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { exportJWK, SignJWT } from 'jose'
import { connectAsync } from 'mqtt'
import { emqxFile } from '../../../../../deploy/testing/emqx.ts'
import { serviceToken } from '../../../../../deploy/testing/service-token.ts'
import { freePort } from '../../../testing/free-port.ts'
import type { Account } from './front.ts'
import { type EmqxPorts, toTestConf } from './test-conf.ts'

/** The installation of EMQX. Tests that need it are skipped if it is undefined. */
export const EMQX_HOME = process.env['TEST_EMQX_HOME']
/** The reason that stands in the names of tests that are skipped without it. */
export const EMQX_NEEDED = 'needs TEST_EMQX_HOME, the folder of an installed EMQX 5.8.9'

export interface RealEmqxOptions {
  readonly home?: string | undefined
  /** Signs the tokens of devices. EMQX gets the public half. */
  readonly key?: KeyObject
  readonly startTimeoutMs?: number
}

const START_TIMEOUT_MS = 300_000
const STOP_TIMEOUT_MS = 60_000
const POLL_MS = 200
const PROBE_TIMEOUT_MS = 2_000
const COOKIE = 'fleet-test'
const REST_KEY = 'fleet'
const REST_SECRET = 'rest-secret'
/** The ports of Erlang's distribution and of EMQX's own calls follow from the number in the node's name. */
const NODE_PORTS = [4_370, 5_370]
const NODE_NUMBER_MAX = 999

type Probe = 'accepted' | 'refused' | 'away'

export class RealEmqx {
  readonly ingest: Pick<Account, 'user' | 'password'>
  readonly api: Pick<Account, 'user' | 'password'>
  readonly #folder = mkdtempSync(join(tmpdir(), 'fleet-real-emqx-'))
  readonly #home: string
  readonly #key: KeyObject
  readonly #ports: EmqxPorts
  readonly #nodeNumber: number
  readonly #jwks = createServer((_, response) => void this.#serveKeys(response))
  readonly #startTimeoutMs: number
  readonly #killGroup = () => this.#signal('SIGKILL')
  #child: ChildProcess | undefined
  #probes = 0

  private constructor(parts: {
    readonly home: string
    readonly key: KeyObject
    readonly ports: EmqxPorts
    readonly nodeNumber: number
    readonly accounts: readonly [ingest: string, api: string]
    readonly startTimeoutMs: number
  }) {
    this.#home = parts.home
    this.#key = parts.key
    this.#ports = parts.ports
    this.#nodeNumber = parts.nodeNumber
    this.#startTimeoutMs = parts.startTimeoutMs
    const [ingest, api] = parts.accounts
    this.ingest = { user: 'fleet:ingest', password: ingest }
    this.api = { user: 'fleet:api', password: api }
  }

  /** Resolves once EMQX lets in who has a token and refuses who has none, at both of its doors. */
  static async start({ home = EMQX_HOME, key, startTimeoutMs }: RealEmqxOptions = {}): Promise<RealEmqx> {
    if (home === undefined || !existsSync(join(home, 'bin', 'emqx')))
      throw new Error(`there is no ${join(home ?? '$TEST_EMQX_HOME', 'bin', 'emqx')}: ${EMQX_NEEDED}`)
    const services = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const pem = String(services.privateKey.export({ type: 'pkcs8', format: 'pem' }))
    const emqx = new RealEmqx({
      home,
      key: key ?? generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
      ports: { devices: await freePort(), services: await freePort(), rest: await freePort() },
      nodeNumber: await freeNodeNumber(),
      accounts: [await serviceToken('fleet:ingest', pem), await serviceToken('fleet:api', pem)],
      startTimeoutMs: startTimeoutMs ?? START_TIMEOUT_MS,
    })
    try {
      await emqx.#configure(services.publicKey)
      await emqx.revive()
    } catch (error) {
      await emqx.stop()
      throw error
    }
    return emqx
  }

  /** Address for services. */
  get url(): string {
    return `mqtt://127.0.0.1:${this.#ports.services}`
  }

  get devicePort(): number {
    return this.#ports.devices
  }

  get emqxApi() {
    return { url: `http://127.0.0.1:${this.#ports.rest}`, key: REST_KEY, secret: REST_SECRET } as const
  }

  /** A device's password, as Fleet issues it. It has no list of rights, so acl.conf judges. */
  tokenOf(deviceId: string): Promise<string> {
    const issued = Math.floor(Date.now() / 1_000)
    const attributes = { device: deviceId, issued: String(issued * 1_000), lasts: '3600' }
    return new SignJWT({ scope: 'device', client_attrs: attributes })
      .setProtectedHeader({ alg: 'RS256' })
      .setSubject(deviceId)
      .setIssuedAt(issued)
      .setExpirationTime(issued + 3_600)
      .sign(this.#key)
  }

  /** Stops in order and starts again. */
  async restart(): Promise<void> {
    await this.#end('SIGTERM')
    await this.revive()
  }

  kill9(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** Starts it with the data that it has. */
  async revive(): Promise<void> {
    const log = join(this.#folder, 'console.log')
    const child = spawn(
      'sh',
      ['-c', `exec "$0" foreground >>"$1" 2>&1`, join(this.#home, 'bin', 'emqx'), log],
      {
        cwd: this.#folder,
        // A group of its own: EMQX starts programs, and all of them have to end with it.
        detached: true,
        stdio: 'ignore',
        env: { ...process.env, ...this.#environment() },
      },
    )
    this.#child = child
    process.once('exit', this.#killGroup)
    const until = performance.now() + this.#startTimeoutMs
    while (!(await this.#isReady())) {
      const isOver = child.exitCode !== null || child.signalCode !== null
      if (!isOver && performance.now() < until) await sleep(POLL_MS)
      else {
        const why = isOver ? 'ended at its start' : `was not ready after ${this.#startTimeoutMs / 1_000} s`
        const said = existsSync(log) ? readFileSync(log, 'utf8').slice(-4_000) : ''
        throw new Error(`EMQX of ${this.#home} ${why}. It said: ${said}`)
      }
    }
  }

  /** Kills it and starts it again without its data. */
  async forget(): Promise<void> {
    await this.kill9()
    rmSync(join(this.#folder, 'data'), { recursive: true, force: true })
    mkdirSync(join(this.#folder, 'data'))
    await this.revive()
  }

  pause(): void {
    this.#signal('SIGSTOP')
  }

  resume(): void {
    this.#signal('SIGCONT')
  }

  async stop(): Promise<void> {
    await this.kill9()
    this.#jwks.closeAllConnections()
    this.#jwks.close()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20 })
  }

  async #configure(serviceKey: KeyObject): Promise<void> {
    const etc = join(this.#folder, 'etc')
    // `base.hocon` and `vm.args` belong to the installation.
    cpSync(join(this.#home, 'etc'), etc, { recursive: true })
    mkdirSync(join(this.#folder, 'data'))
    const write = (name: string, text: string) => {
      writeFileSync(join(this.#folder, name), text, { mode: 0o600 })
      return join(this.#folder, name)
    }
    this.#jwks.listen(0, '127.0.0.1')
    await once(this.#jwks, 'listening')
    const address = this.#jwks.address()
    if (address === null || typeof address === 'string') throw new Error('not listening')
    const files = {
      acl: write('acl.conf', emqxFile('acl.conf')),
      apiKeys: write('api-keys.txt', `${REST_KEY}:${REST_SECRET}\n`),
      serviceKey: write('services.pem', String(serviceKey.export({ type: 'spki', format: 'pem' }))),
    }
    const jwks = `http://127.0.0.1:${address.port}/.well-known/jwks.json`
    write(join('etc', 'emqx.conf'), toTestConf(emqxFile('emqx.conf'), { ports: this.#ports, files, jwks }))
  }

  #environment() {
    return {
      BASE_RUNNER_ROOT_DIR: this.#folder,
      EMQX_LOG_DIR: join(this.#folder, 'log'),
      EMQX_NODE__NAME: `fleet${this.#nodeNumber}@127.0.0.1`,
      EMQX_NODE__COOKIE: COOKIE,
      EMQX_NODE__DATA_DIR: join(this.#folder, 'data'),
      EMQX_DASHBOARD__DEFAULT_PASSWORD: COOKIE,
      // There are no certificates.
      EMQX_LISTENERS__SSL__DEFAULT__ENABLE: 'false',
      EMQX_LISTENERS__SSL__CERTIFICATES__ENABLE: 'false',
      EMQX_LISTENERS__WSS__DEFAULT__ENABLE: 'false',
    }
  }

  async #serveKeys(response: { end(text: string): unknown }): Promise<void> {
    const jwk = await exportJWK(createPublicKey(this.#key))
    response.end(JSON.stringify({ keys: [{ ...jwk, alg: 'RS256', use: 'sig' }] }))
  }

  /** EMQX answers before it has authentication, and lets anybody in then. */
  async #isReady(): Promise<boolean> {
    if (!(await isAnswered(`${this.emqxApi.url}/status`))) return false
    // A name for each: EMQX bans a client that connects again and again.
    const name = `probe-${++this.#probes}`
    const device = { port: this.#ports.devices, clientId: name, username: name }
    const service = { port: this.#ports.services, clientId: `fleet:${name}`, username: this.api.user }
    const [known, stranger, account, impostor] = await Promise.all([
      probe({ ...device, password: await this.tokenOf(name) }),
      probe({ ...device, clientId: `${name}-x`, password: 'wrong' }),
      probe({ ...service, password: this.api.password }),
      probe({ ...service, clientId: `fleet:${name}-x`, password: 'wrong' }),
    ])
    const areRefused = [stranger, impostor].every((one) => one === 'refused')
    return known === 'accepted' && account === 'accepted' && areRefused
  }

  #signal(signal: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    const { pid } = this.#child ?? {}
    if (pid === undefined) return
    try {
      process.kill(-pid, signal)
    } catch {
      // The whole group has ended.
    }
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    const isOver = child.exitCode !== null || child.signalCode !== null
    const exit = isOver ? Promise.resolve() : once(child, 'exit')
    this.resume()
    this.#signal(signal)
    const late = sleep(STOP_TIMEOUT_MS, undefined, { ref: false })
    await Promise.race([exit, late])
    // What it has started, or what does not end.
    this.#signal('SIGKILL')
    await exit
    process.off('exit', this.#killGroup)
    this.#child = undefined
  }
}

async function probe({
  port,
  ...options
}: {
  readonly port: number
  readonly clientId: string
  readonly username: string
  readonly password: string
}): Promise<Probe> {
  try {
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, {
      ...options,
      reconnectPeriod: 0,
      connectTimeout: PROBE_TIMEOUT_MS,
    })
    await client.endAsync()
    return 'accepted'
  } catch (error) {
    // The code of a CONNACK is a number, and that of a socket's error a text.
    return typeof (error as { readonly code?: unknown }).code === 'number' ? 'refused' : 'away'
  }
}

async function isAnswered(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    // It does not listen yet.
    return false
  }
}

async function freeNodeNumber(): Promise<number> {
  for (;;) {
    const number = 1 + Math.floor(Math.random() * NODE_NUMBER_MAX)
    const free = await Promise.all(NODE_PORTS.map((base) => isFree(base + number)))
    if (free.every(Boolean)) return number
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return true
  } catch {
    // Somebody else has it.
    return false
  } finally {
    server.close()
  }
}
