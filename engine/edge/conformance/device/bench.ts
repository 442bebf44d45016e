// The test bench for the checks of a device: a broker, a download server and, if the kit starts it, the device program.
import { setMaxListeners } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '../../../../schemas/json.ts'
import { SkippedCheck, UnmetCheck } from '../verdict.ts'
import { Broker } from './broker.ts'
import type { BrokerConnection } from './broker-connection.ts'
import { Downloads } from './downloads.ts'
import { newManifestKey } from './manifest-key.ts'
import { Program } from './program.ts'
import { ShadowService } from './shadow-service.ts'

export interface DeviceUnderTest {
  readonly deviceId: string
  /** A shell command that starts the device. If undefined, the user starts the device. */
  readonly run: string | undefined
  readonly port: number
  /** The environment of the device program, to which the bench adds its own variables. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly deviceType: string
  /** A command that the device supports. */
  readonly command: string
  /** A command that takes some seconds, with its data. */
  readonly slowCommand: { readonly command: string; readonly data: JsonObject } | undefined
  /** A shadow field that the device applies, and its possible values. */
  readonly field: { readonly name: string; readonly values: readonly (string | number | boolean)[] }
  /** A factor between 0 and 1 for waits whose length the kit chooses. */
  readonly pace: number
  readonly signal: AbortSignal
}

const CONNECT_MS_MAX = 60_000
const STARTED_BY_USER_MS_MAX = 600_000
const OBSERVE_MS_MIN = 400

/** Exits without any connection after which the program is not waited for. */
const EXITS_MAX = 5

export class Bench {
  readonly device: DeviceUnderTest
  readonly broker: Broker
  readonly downloads: Downloads
  readonly shadow: ShadowService
  readonly key = newManifestKey()
  /** Undefined until the kit has tested it. */
  checksManifests: boolean | undefined
  readonly #folder: string
  readonly #program: Program | undefined
  #value = 0
  #seq = 0

  private constructor(device: DeviceUnderTest, broker: Broker, downloads: Downloads, folder: string) {
    this.device = device
    this.broker = broker
    this.downloads = downloads
    this.shadow = new ShadowService(broker)
    this.#folder = folder
    downloads.publishKeys({ keys: [this.key.publicKey] })
    const { run: command } = device
    if (command === undefined) return
    const exited = () => broker.emit('seen')
    this.#program = new Program({ command, environment: this.#environment(), exited })
  }

  static async open(device: DeviceUnderTest, port: number): Promise<Bench> {
    // Each wait adds a listener, so their number has no limit.
    setMaxListeners(0, device.signal)
    const host = device.run === undefined ? '0.0.0.0' : '127.0.0.1'
    const broker = await Broker.open({ deviceId: device.deviceId, host, port })
    const downloads = await Downloads.open(host, () => broker.emit('seen'))
    return new Bench(device, broker, downloads, await mkdtemp(join(tmpdir(), 'fleet-conformance-')))
  }

  /** Restores the normal behaviour of the broker. Resolves once the device is connected. */
  async ready(): Promise<BrokerConnection> {
    this.broker.reset()
    const program = this.#program
    program?.start()
    const hasNeverConnected = () => this.broker.recordings.length === 0
    // A program that cannot even start would make every check wait.
    const isHopeless = () => hasNeverConnected() && (program?.exits ?? 0) >= EXITS_MAX
    const isStartedByUser = program === undefined && hasNeverConnected()
    try {
      const found = await this.until(
        'the device connects',
        () => this.broker.current ?? (isHopeless() && 'hopeless'),
        isStartedByUser ? STARTED_BY_USER_MS_MAX : CONNECT_MS_MAX,
      )
      if (found === 'hopeless') throw new UnmetCheck('the program ends without connecting')
      return found
    } catch (error) {
      if (!(error instanceof UnmetCheck) || program === undefined) throw error
      const reportWith = program.output === '' ? 'nothing' : program.output
      throw new UnmetCheck(`${error.message}; the program wrote: ${reportWith.slice(-500)}`)
    }
  }

  /** Breaks the connection. Resolves once the device has connected again. */
  async reconnect(): Promise<BrokerConnection> {
    await this.ready()
    this.broker.cut()
    return this.ready()
  }

  until<T>(what: string, find: () => T | false | undefined, withinMs: number): Promise<T> {
    return this.broker.until(what, find, withinMs, this.device.signal)
  }

  /** Observes for a time that the kit chooses, and returns early with the first value of `find`. Undefined means that
   *  nothing was found. */
  async observe<T>(find: () => T | false | undefined, ms: number): Promise<T | undefined> {
    const until = Date.now() + Math.max(OBSERVE_MS_MIN, ms * this.device.pace)
    for (;;) {
      const found = find()
      if (found !== undefined && found !== false) return found
      if (Date.now() >= until) return undefined
      await this.wait(50)
    }
  }

  wait(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.device.signal })
  }

  /** The device program. Throws `SkippedCheck` if the user runs the device, because the kit cannot stop it then. */
  get program(): Program {
    if (this.#program === undefined)
      throw new SkippedCheck(
        'the kit must start the device for this check: use --run with the command that starts it',
      )
    return this.#program
  }

  /** Kills the program and starts it again. */
  async killAndRestart(): Promise<BrokerConnection> {
    await this.program.stop('SIGKILL')
    await this.until(
      'the connection of the killed program ends',
      () => this.broker.current === undefined,
      10_000,
    )
    return this.ready()
  }

  /** Returns another value for the field than the previous one. */
  nextValue(): string | number | boolean {
    const { values } = this.device.field
    return values[this.#value++ % values.length] ?? this.#value
  }

  /** Returns a sequence number for a firmware message. It also increases across restarts of the kit. */
  nextSeq(): number {
    this.#seq = Math.max(this.#seq + 1, Date.now())
    return this.#seq
  }

  downloadUrl(name: string): string {
    const host = (this.broker.current?.localAddress ?? '127.0.0.1').replace('::ffff:', '')
    return `http://${host}:${this.downloads.port}/ota/artifacts/conformance/${name}`
  }

  async close(): Promise<void> {
    await this.#program?.stop('SIGKILL')
    await this.broker.close()
    await this.downloads.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  #environment(): Readonly<Record<string, string | undefined>> {
    const { environment, deviceId, deviceType } = this.device
    return {
      ...environment,
      FLEET_MQTT_URL: `mqtt://127.0.0.1:${this.broker.port}`,
      FLEET_DEVICE_ID: deviceId,
      FLEET_DEVICE_TOKEN: 'conformance',
      FLEET_DEVICE_TYPE: deviceType,
      FLEET_STATE_DIR: this.#folder,
      FLEET_OTA_KEYS_URL: `http://127.0.0.1:${this.downloads.port}/.well-known/ota-keys.json`,
    }
  }
}
