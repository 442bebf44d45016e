// For tests: what stands in for EMQX. A real mosquitto keeps sessions, queues and retained messages. Devices and services
// connect to a front before it (front.ts), which does what EMQX's rules do (deploy/emqx/emqx.conf): it sends
// on to `ingest/<partition>/…` what devices say, with EMQX's user properties, and tells of their connections,
// subscriptions and acknowledgements. Of EMQX's REST API there is what the adapter calls (rest.ts).
//
// It differs from EMQX in this:
// - A device's PUBLISH reaches mosquitto, and so is acknowledged, once what the rule made of it is acknowledged: EMQX
//   does not wait. After `kill9` mosquitto may still have lost what it acknowledged within the last milliseconds, as
//   EMQX may; after `restart` it has everything.
// - Device credentials are asked of `authenticate`. Any subscription is granted; only its own topics reach a device.
// - Nothing is told of devices that were connected when the broker died.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect as dial } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../testing/free-port.ts'
import { EmqxFront, type FrontOptions } from './front.ts'
import { EmqxRest } from './rest.ts'

/** Undefined where there is none: what needs it is skipped. */
export const MOSQUITTO = process.env['TEST_SERVER_MOSQUITTO']

export interface StandInOptions extends FrontOptions {
  /** Without rules it is a plain broker, whose ingest account reads devices' topics themselves. */
  readonly mode?: 'emqx' | 'plain'
}

const START_TIMEOUT_MS = 10_000
const DEVICE_WRITES = [
  'telemetry/#',
  'status',
  'log',
  'shadow/reported',
  'shadow/get',
  'command/ack',
  'ota/status',
  'sub/#',
]

export class EmqxStandIn {
  readonly ingest = { user: 'fleet:ingest', password: 'ingest-secret' }
  readonly api = { user: 'fleet:api', password: 'api-secret' }
  readonly #directory = mkdtempSync(join(tmpdir(), 'fleet-emqx-'))
  readonly #rest: EmqxRest
  readonly #front: EmqxFront
  readonly #ports: { readonly devices: number; readonly services: number }
  #child: ChildProcess | undefined

  private constructor(ports: { devices: number; services: number }, options: StandInOptions) {
    this.#ports = ports
    const isPlain = options.mode === 'plain'
    this.#front = new EmqxFront(ports, { ...options, accounts: [this.ingest, this.api], isPlain })
    this.#rest = new EmqxRest(this.#front)
    const write = (name: string, lines: readonly string[]) =>
      writeFileSync(join(this.#directory, name), `${lines.join('\n')}\n`, { mode: 0o600 })
    write('devices.acl', [
      'pattern read fleet/%c/#',
      ...DEVICE_WRITES.map((suffix) => `pattern write fleet/%c/${suffix}`),
    ])
    write('services.acl', [
      'user fleet:rules',
      'topic write ingest/#',
      'user fleet:ingest',
      'topic read ingest/#',
      ...(isPlain ? ['topic read fleet/#'] : []),
      'user fleet:api',
      'topic readwrite fleet/#',
    ])
    write('mosquitto.conf', this.#conf())
  }

  static async start(options: StandInOptions = {}): Promise<EmqxStandIn> {
    const standIn = new EmqxStandIn({ devices: await freePort(), services: await freePort() }, options)
    await standIn.#spawn()
    await standIn.#front.open()
    await standIn.#rest.open()
    return standIn
  }

  /** For the adapter and other services, and for devices. */
  get url(): string {
    return `mqtt://127.0.0.1:${this.#front.servicePort}`
  }

  get devicePort(): number {
    return this.#front.devicePort
  }

  get emqxApi(): { readonly url: string; readonly key: string; readonly secret: string } {
    return this.#rest.access
  }

  /** Sends what EMQX's rules would, for tests of what the front cannot bring about. */
  republish(topic: string, payload: string, up?: Readonly<Record<string, string>>): Promise<void> {
    return this.#front.republish({ topic, payload: Buffer.from(payload), up })
  }

  /** Connected devices. */
  clientIds(): readonly string[] {
    return this.#front.clientIds()
  }

  banned(): readonly string[] {
    return this.#front.banned()
  }

  /** In order: sessions, queues and retained messages are there again. */
  async restart(): Promise<void> {
    await this.#end('SIGTERM')
    await this.#spawn()
    await this.#front.reopen()
  }

  async kill9(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** After `kill9`. */
  async revive(): Promise<void> {
    await this.#spawn()
    await this.#front.reopen()
  }

  /** Starts again without anything that it had. */
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
    if (MOSQUITTO === undefined) throw new Error('there is no mosquitto')
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
      // Whatever changes is written at once.
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

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = dial(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
