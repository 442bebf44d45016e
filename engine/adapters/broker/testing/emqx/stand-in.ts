// For tests: the stand-in for EMQX. A real mosquitto keeps sessions, queues and retained messages. Clients connect to a front
// before it (front.ts), which does what EMQX does with deploy/emqx/emqx.conf: it judges by acl.conf and by the lists in
// tokens, runs the very rules on messages and events of all clients, and lets anybody in for a moment at its start and
// before its end, without any rights. rest.ts has the part of EMQX's REST API that the adapter calls.
//
// It differs from EMQX in these points:
// - A device's PUBLISH reaches mosquitto, and so is acknowledged, once the republished message is acknowledged. EMQX does
//   not wait. After `kill9` mosquitto may have lost what it acknowledged within the last milliseconds, as EMQX may. After
//   `restart` it has everything, and EMQX has retained messages alone.
// - `authenticate` judges device credentials.
// - The end of sessions that were open when the broker died is not reported.

import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect as dial } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { toAclRules } from '../../../../../deploy/testing/acl.ts'
import { serviceToken } from '../../../../../deploy/testing/service-token.ts'
import { freePort } from '../../../testing/free-port.ts'
import { type Account, EmqxFront, type FrontOptions } from './front.ts'
import { EmqxRest } from './rest.ts'

/** Path of mosquitto. Tests that need it are skipped if it is undefined. */
export const MOSQUITTO = process.env['TEST_SERVER_MOSQUITTO']

export interface StandInOptions extends FrontOptions {
  /** `plain` has no rules: the ingest account reads devices' topics themselves. */
  readonly mode?: 'emqx' | 'plain'
}

const START_TIMEOUT_MS = 60_000
/** EMQX is without authentication for 0.6 s. */
const UNGUARDED_MS = 100
/** EMQX's default of `flapping_detect.ban_time`, for operators who turn it on. */
const FLAPPING_BAN_MS = 300_000
const DEVICE_WRITES = [
  'telemetry/#',
  'status',
  'log',
  'shadow/reported',
  'shadow/get',
  'token/get',
  'command/ack',
  'ota/status',
  'sub/#',
]

export class EmqxStandIn {
  readonly ingest: Account
  readonly api: Account
  readonly #directory = mkdtempSync(join(tmpdir(), 'fleet-emqx-'))
  readonly #rest: EmqxRest
  readonly #front: EmqxFront
  readonly #ports: { readonly devices: number; readonly services: number }
  #child: ChildProcess | undefined

  private constructor(
    ports: { devices: number; services: number },
    { ingest, api, ...options }: StandInOptions & { readonly ingest: Account; readonly api: Account },
  ) {
    this.#ports = ports
    this.ingest = ingest
    this.api = api
    const isPlain = options.mode === 'plain'
    this.#front = new EmqxFront(ports, { ...options, accounts: [ingest, api], isPlain })
    this.#rest = new EmqxRest(this.#front)
    const write = (name: string, lines: readonly string[]) =>
      writeFileSync(join(this.#directory, name), `${lines.join('\n')}\n`, { mode: 0o600 })
    write('devices.acl', [
      'pattern read fleet/%c/#',
      // In place of EMQX the front judges by EMQX's lists of rights.
      ...(isPlain ? DEVICE_WRITES : ['#']).map((suffix) => `pattern write fleet/%c/${suffix}`),
    ])
    write('services.acl', [
      'user fleet:rules',
      'topic write ingest/#',
      'user fleet:ingest',
      isPlain ? 'topic read fleet/#' : 'topic read ingest/#',
      'user fleet:api',
      'topic readwrite fleet/#',
    ])
    write('mosquitto.conf', this.#conf())
  }

  static async start(options: StandInOptions = {}): Promise<EmqxStandIn> {
    const ports = { devices: await freePort(), services: await freePort() }
    const [ingest, api] = [await accountOf('fleet:ingest'), await accountOf('fleet:api')]
    const standIn = new EmqxStandIn(ports, { ...options, ingest, api })
    await standIn.#spawn()
    await standIn.#front.open()
    await standIn.#rest.open()
    return standIn
  }

  /** Address for services. */
  get url(): string {
    return `mqtt://127.0.0.1:${this.#front.servicePort}`
  }

  get devicePort(): number {
    return this.#front.devicePort
  }

  get emqxApi(): { readonly url: string; readonly key: string; readonly secret: string } {
    return this.#rest.access
  }

  /** Publishes as EMQX's rules would, for tests of messages that the front never sends. */
  republish(topic: string, payload: string, up?: Readonly<Record<string, string>>): Promise<void> {
    return this.#front.republish({ topic, payload: Buffer.from(payload), up })
  }

  /** Ids of everybody who is connected. */
  clientIds(): readonly string[] {
    return this.#front.clients().map(({ clientId }) => clientId)
  }

  banned(): readonly string[] {
    return this.#front.banned()
  }

  /** Bans a client as EMQX does that sees it connect too often within a minute. */
  async flapping(clientId: string): Promise<void> {
    await this.#front.ban(clientId, Date.now() + FLAPPING_BAN_MS)
  }

  /** How often one of the rules has failed. */
  get exceptions(): number {
    return this.#front.exceptions
  }

  /** Does something while EMQX has no authentication, as at its start and before its end. */
  async unguarded<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#front.isUnguarded = true
    try {
      return await work()
    } finally {
      this.#front.isUnguarded = false
    }
  }

  /** Stops in order and starts again: sessions, queues and retained messages survive. */
  async restart(): Promise<void> {
    await this.unguarded(async () => {
      await sleep(UNGUARDED_MS)
      await this.#end('SIGTERM')
    })
    await this.revive()
  }

  async kill9(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Starts again after `kill9`. */
  async revive(): Promise<void> {
    await this.unguarded(async () => {
      await this.#spawn()
      await this.#front.reopen()
      await sleep(UNGUARDED_MS)
    })
  }

  /** Kills it and starts it again without its data. */
  async forget(): Promise<void> {
    await this.#end('SIGKILL')
    rmSync(join(this.#directory, 'mosquitto.db'), { force: true })
    await this.revive()
  }

  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  async stop(): Promise<void> {
    this.resume()
    await this.#rest.close()
    await this.#front.close()
    await this.#end('SIGKILL')
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  async #spawn(): Promise<void> {
    if (MOSQUITTO === undefined) throw new Error('set TEST_SERVER_MOSQUITTO to the path of mosquitto')
    const child = spawn(MOSQUITTO, ['-c', join(this.#directory, 'mosquitto.conf')], { stdio: 'ignore' })
    this.#child = child
    const until = performance.now() + START_TIMEOUT_MS
    while (!(await answers(this.#ports.services))) {
      if (child.exitCode !== null || performance.now() > until)
        throw new Error(`mosquitto does not start: ${readFileSync(join(this.#directory, 'log'), 'utf8')}`)
      await sleep(20)
    }
  }

  #conf(): readonly string[] {
    const { devices, services } = this.#ports
    return [
      'per_listener_settings true',
      `listener ${devices} 127.0.0.1`,
      'allow_anonymous true',
      `acl_file ${this.#directory}/devices.acl`,
      `listener ${services} 127.0.0.1`,
      'allow_anonymous true',
      `acl_file ${this.#directory}/services.acl`,
      'persistence true',
      `persistence_location ${this.#directory}/`,
      // Every change is written at once.
      'autosave_on_changes true',
      'autosave_interval 1',
      'max_inflight_messages 0',
      'max_queued_messages 0',
      'set_tcp_nodelay true',
      'sys_interval 0',
      'log_type error',
      'log_type warning',
      `log_dest file ${this.#directory}/log`,
      ...(process.getuid?.() === 0 ? ['user root'] : []),
    ]
  }
}

/** Signs the tokens of services. Nobody verifies them here: a password is compared. */
const KEY = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
})

async function accountOf(user: string): Promise<Account> {
  const password = await serviceToken(user, String(KEY))
  const [, claims = ''] = password.split('.')
  return {
    user,
    password,
    verified: { acl: toAclRules(JSON.parse(Buffer.from(claims, 'base64url').toString()).acl) },
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = dial(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
