// A device of Fleet: stays connected, sends telemetry, carries out commands, follows its shadow and installs
// firmware.
import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { JsonObject } from '../../../schemas/json.ts'
import { parsePayload } from '../payload.ts'
import { Attempts } from './backoff.ts'
import { type CommandHandler, Commands } from './commands.ts'
import { Connection, type ConnectionEvents } from './connection.ts'
import { type DesiredHandler, DesiredState } from './desired-state.ts'
import { DeviceToken } from './device-token.ts'
import { type FirmwareHandlers, FirmwareUpdates } from './firmware.ts'
import type { ManifestKeys } from './manifest.ts'
import { Outbox } from './outbox.ts'
import { type DeviceStorage, memoryStorage } from './storage.ts'
import { unsendable } from './unsendable.ts'

export interface FleetDeviceOptions {
  /** `mqtt://host:1883`, `mqtts://host:8883` or `ws://host:8083/mqtt`. */
  readonly url: string
  readonly deviceId: string
  /** Renewed before it ends, and kept in `storage` with what else the device remembers. */
  readonly token?: string
  /** PEM texts, instead of a token. */
  readonly certificate?: { readonly cert: string; readonly key: string }
  /** PEM text of the authority that signed the broker's certificate. */
  readonly ca?: string
  /** The version of the running image. Read it from the image itself, not from the last installation. A function is called
   *  for each status message; undefined reports no version. */
  readonly firmwareVersion: string | (() => string | undefined)
  /** Default: the device remembers nothing across a restart. See `fileStorage`. */
  readonly storage?: DeviceStorage
  readonly heartbeatSec?: number
  readonly keepaliveSec?: number
  /** If given, firmware for another type is refused. */
  readonly deviceType?: string
  /** If given, firmware without a manifest that is signed by one of these keys is refused. */
  readonly manifestKeys?: ManifestKeys
  /** Messages kept while there is no connection. */
  readonly bufferMessagesMax?: number
  readonly bufferBytesMax?: number
  /** True if commands run in parallel. Default: each waits for the one before it. */
  readonly commandsAtOnce?: boolean
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal'

export interface FleetDeviceSignals {
  readonly connected: []
  /** The device reconnects by itself. */
  readonly disconnected: [error: Error | undefined]
  /** An attempt to connect failed. Another one follows. */
  readonly unreachable: [error: Error | undefined]
  /** Messages that were dropped because the buffer was full. */
  readonly dropped: [messages: number]
  /** A handler failed, something could not be stored, or the service could not use a message of the device. */
  readonly failed: [error: unknown]
}

const HEARTBEAT_SEC = 20
const KEEPALIVE_SEC = 60
const MESSAGES_MAX = 10_000
const BYTES_MAX = 64 * 1024 * 1024
/** Suffices for a robot that sends 500 messages a second to a service that acknowledges them a tenth of a second later. */
const IN_FLIGHT_MAX = 64

export class FleetDevice extends EventEmitter<FleetDeviceSignals> {
  readonly #options: FleetDeviceOptions
  readonly #startedAt = Date.now()
  readonly #outbox: Outbox
  readonly #desired: DesiredState
  readonly #attempts = new Attempts()
  readonly #commandHandlers = new Map<string, CommandHandler>()
  #otherCommands: CommandHandler | undefined
  #firmwareHandlers: FirmwareHandlers | undefined
  #commands: Commands | undefined
  #firmware: FirmwareUpdates | undefined
  #token: DeviceToken | undefined
  #connection: Connection | undefined
  #isOpen = false
  #seq = 0
  #retry: NodeJS.Timeout | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #isClosed = false
  /** Rejects `connect` if the service refuses the device before its first connection. */
  #refused: ((error: Error | undefined) => void) | undefined

  constructor(options: FleetDeviceOptions) {
    super()
    this.#options = options
    const { bufferMessagesMax: messagesMax = MESSAGES_MAX, bufferBytesMax: bytesMax = BYTES_MAX } = options
    this.#outbox = new Outbox({ messagesMax, bytesMax, inFlightMax: IN_FLIGHT_MAX }, (messages) =>
      this.emit('dropped', messages),
    )
    this.#desired = new DesiredState({
      report: (body) => this.#send('shadow/reported', body),
      ask: () => this.#say('shadow/get', ''),
      newToken: () => randomUUID(),
      failed: (error) => this.emit('failed', error),
    })
  }

  get isConnected(): boolean {
    return this.#isOpen
  }

  /** Set handlers before `connect`, so that every command finds its handler. */
  onCommand(command: string, handler: CommandHandler): this {
    this.#commandHandlers.set(command, handler)
    this.#commands?.handle(command, handler)
    return this
  }

  /** Handles commands that have no handler of their own. Without it they are rejected. */
  onOtherCommands(handler: CommandHandler): this {
    this.#otherCommands = handler
    this.#commands?.handleOthers(handler)
    return this
  }

  onDesired(handler: DesiredHandler): this {
    this.#desired.handle(handler)
    return this
  }

  onFirmware(handlers: FirmwareHandlers): this {
    this.#firmwareHandlers = handlers
    this.#firmware?.handle(handlers)
    return this
  }

  /** Resolves at the first connection. Until `close` the device reconnects whenever the connection is lost; if the service refuses
   *  the first one, this rejects. */
  async connect(): Promise<void> {
    if (this.#isClosed) throw new Error('the device was closed: make a new one')
    if (this.#commands !== undefined) throw new Error('the device is connecting already')
    const { storage = memoryStorage(), token } = this.#options
    const now = () => Date.now()
    const failed = (error: unknown) => void this.emit('failed', error)
    /** What was not sent when the device is closed is sent after its next start. */
    const failedUnlessClosed = (error: unknown) => {
      if (!this.#isClosed) failed(error)
    }
    this.#commands = await Commands.open(storage, {
      now,
      failed: failedUnlessClosed,
      send: (ack) => this.#send('command/ack', ack),
      isAtOnce: this.#options.commandsAtOnce === true,
    })
    if (this.#otherCommands !== undefined) this.#commands.handleOthers(this.#otherCommands)
    for (const [command, handler] of this.#commandHandlers) this.#commands.handle(command, handler)
    this.#firmware = await FirmwareUpdates.open({
      ...{ storage, now, failed, random: Math.random },
      deviceId: this.#options.deviceId,
      deviceType: this.#options.deviceType,
      manifestKeys: this.#options.manifestKeys,
      runningVersion: () => this.#firmwareVersion() ?? '',
      report: (body) => this.#say('ota/status', body),
    })
    if (this.#firmwareHandlers !== undefined) this.#firmware.handle(this.#firmwareHandlers)
    if (token !== undefined) this.#token = await DeviceToken.open(storage, token)
    await this.#openFirst()
  }

  /** Sends measurements, which are timed at this instant unless they carry their own time. Resolves once the service has
   *  stored them; rejects if there was no room to keep them until then, or if they are too large. */
  telemetry(data: JsonObject, name?: string): Promise<void> {
    const body = 'timestamp' in data ? data : { timestamp: new Date().toISOString(), ...data }
    return this.#send(name === undefined ? 'telemetry' : `telemetry/${name}`, body)
  }

  /** Sends a message of any kind: `topic` is the part after `fleet/{device_id}/`. Resolves like `telemetry`. */
  publish(topic: string, body: JsonObject, qos: 0 | 1 | 2 = 1): Promise<void> {
    return this.#send(topic, body, qos)
  }

  /** Reports part of the state: a merge patch. Resolves with the version of the shadow once the service has it. */
  report(patch: JsonObject): Promise<number> {
    return this.#desired.report(patch)
  }

  log(level: LogLevel, message: string, fields: JsonObject = {}): Promise<void> {
    return this.#send('log', { ...fields, level, message, timestamp: new Date().toISOString() })
  }

  /** Disconnects in order and connects again, as after a restart: the service needs no more to accept a new version. */
  reconnect(): void {
    this.#connection?.leave('shutdown').catch((error: unknown) => this.emit('failed', error))
  }

  /** Disconnects in order. Messages that were not acknowledged are dropped. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#retry)
    clearInterval(this.#heartbeat)
    this.#commands?.abort()
    this.#firmware?.abort()
    await this.#connection?.leave('shutdown')
    this.#outbox.close()
    this.#desired.close()
  }

  #openFirst(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.once('connected', () => {
        this.#refused = undefined
        resolve()
      })
      this.#refused = (error) => {
        this.#isClosed = true
        const advice = 'the service refuses the device: check its id and its token'
        reject(new Error(advice, { cause: error }))
      }
      this.#open()
    })
  }

  #open(): void {
    const { url, deviceId, certificate, ca, keepaliveSec = KEEPALIVE_SEC } = this.#options
    const token = this.#token?.current
    const events: ConnectionEvents = {
      opened: (connection) => this.#opened(connection),
      message: (suffix, payload) => this.#take(suffix, payload),
      closed: (cause) => {
        if (cause.refused) this.#refused?.(cause.error)
        this.#closed(cause)
      },
    }
    this.#connection = new Connection(
      {
        ...{ url, deviceId, token, certificate, ca, keepaliveSec },
        status: (status, reason, sessionId) => this.#status(status, reason, sessionId),
        subscriptions: this.#subscriptions(),
      },
      events,
    )
  }

  #opened(connection: Connection): void {
    this.#attempts.opened(performance.now())
    this.#isOpen = true
    const { heartbeatSec = HEARTBEAT_SEC } = this.#options
    this.#heartbeat = setInterval(() => {
      connection.announce('heartbeat').catch(() => undefined)
    }, heartbeatSec * 1_000)
    this.#outbox.connected((message) => connection.publish(message))
    this.#commands?.connected()
    this.#desired.connected()
    void this.#firmware?.connected().catch((error: unknown) => this.emit('failed', error))
    this.emit('connected')
  }

  #closed({ refused, error }: { readonly refused: boolean; readonly error: Error | undefined }): void {
    const wasOpen = this.#isOpen
    this.#isOpen = false
    clearInterval(this.#heartbeat)
    this.#outbox.disconnected()
    this.emit(wasOpen ? 'disconnected' : 'unreachable', error)
    if (this.#isClosed) return
    const about = { now: performance.now(), wasRefused: refused, random: Math.random() }
    const waitMs = this.#attempts.closed(about)
    this.#retry = setTimeout(() => this.#open(), waitMs)
  }

  async #take(suffix: string, payload: Uint8Array): Promise<void> {
    const body = parsePayload(payload)
    // Not valid JSON: it is acknowledged, so that it is not sent again.
    if (body === undefined) return
    if (suffix === 'command') return this.#commands?.take(body)
    if (suffix === 'ota') return this.#takeFirmware(body)
    if (suffix === 'shadow/desired') return this.#desired.desired(body)
    if (suffix === 'shadow/get/accepted') return this.#desired.document(body)
    if (suffix === 'shadow/reported/accepted') return this.#desired.accepted(body)
    if (suffix === 'shadow/reported/rejected') return this.#desired.rejected(body)
    if (suffix === 'error') this.#takeError(body)
    if (suffix === 'token/accepted')
      await this.#token?.take(body).catch((error: unknown) => this.emit('failed', error))
  }

  #takeError({ code, topic, detail }: JsonObject): void {
    if (code !== 'TOKEN_EXPIRES') this.emit('failed', new Error(`${topic}: ${code}: ${detail}`))
    else if (this.#token !== undefined) this.#say('token/get', '')
  }

  /** Does not wait for the handlers, which may take long: commands and pings would have to wait, too. After a new connection the
   *  service sends the order again. */
  #takeFirmware(body: JsonObject): void {
    const connection = this.#connection
    this.#firmware?.take(body).catch((error: unknown) => {
      this.emit('failed', error)
      connection?.abandon()
    })
  }

  #subscriptions(): readonly string[] {
    const shadow = ['desired', 'get/accepted', 'reported/accepted', 'reported/rejected']
    const firmware = this.#firmwareHandlers === undefined ? [] : ['ota']
    return ['command', ...shadow.map((topic) => `shadow/${topic}`), ...firmware, 'error', 'token/accepted']
  }

  #status(status: 'online' | 'offline', reason: string, sessionId: string): JsonObject {
    const version = this.#firmwareVersion()
    return {
      status,
      reason,
      session_id: sessionId,
      seq: this.#seq++,
      timestamp: new Date().toISOString(),
      uptime_sec: Math.round((Date.now() - this.#startedAt) / 1_000),
      ...(version !== undefined && { firmware_version: version }),
      capabilities: { commands: [...this.#commandHandlers.keys()] },
    }
  }

  #firmwareVersion(): string | undefined {
    const { firmwareVersion: version } = this.#options
    return typeof version === 'function' ? version() : version
  }

  #send(suffix: string, body: JsonObject | '', qos: 0 | 1 | 2 = 1): Promise<void> {
    const payload = body === '' ? '' : JSON.stringify(body)
    const fault = unsendable(`fleet/${this.#options.deviceId}/${suffix}`, payload)
    if (fault !== undefined) return Promise.reject(new Error(fault))
    return this.#outbox.add({ suffix, payload, qos })
  }

  /** Publishes without waiting, and handles the rejection. */
  #say(suffix: string, body: JsonObject | ''): void {
    this.#send(suffix, body).catch((error: unknown) => {
      if (!this.#isClosed) this.emit('failed', error)
    })
  }
}
