// A simulated device on a real MQTT connection, with birth message and last will, telemetry, commands and shadow.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import mqtt, { type MqttClient } from 'mqtt'
import type { JsonObject } from '../../../schemas/json.ts'
import { parsePayload } from '../payload.ts'
import type { EnrolledDevice } from './enrol.ts'
import { fetchImage } from './fetch-image.ts'
import { type Body, createBody, step } from './motion.ts'
import { COMMANDS } from './obey.ts'
import { Orders } from './orders.ts'
import type { Random } from './random.ts'
import { reportOf } from './report.ts'
import { applyDesired, createReported, reportIntervalMs } from './shadow.ts'
import type { UpdateKind } from './update-kinds.ts'
import { Updater } from './updater.ts'

export interface SimulatedDeviceOptions {
  readonly device: EnrolledDevice
  readonly mqttUrl: string
  readonly random: Random
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** The broker refused the device, which does not try again. */
  readonly refused: (id: string, reason: string) => void
  /** How it goes about updates. */
  readonly updates: UpdateKind
}

const FIRMWARE = '1.4.2'
const HEARTBEAT_EVERY_MS = 20_000
const IN_FLIGHT_MAX = 10
const RECONNECT_AFTER_MS = 1_000
/** Return codes of MQTT 3.1.1: bad user name or password, not authorised. */
const REFUSED_CODES: readonly unknown[] = [4, 5]

export class SimulatedDevice {
  readonly id: string
  readonly #options: SimulatedDeviceOptions
  readonly #client: MqttClient
  readonly #orders = new Orders()
  #startedAt: number
  #body: Body
  readonly #updater: Updater
  readonly #stopped = new AbortController()
  #reported = createReported(FIRMWARE)
  /** It never comes back. */
  #isOff = false
  #bootId: string = randomUUID()
  #sessionId: string = randomUUID()
  #seq = 0
  #movedAt: number
  #heartbeatAt: number
  #reportedAt = Number.NEGATIVE_INFINITY
  #inFlight = 0

  constructor(options: SimulatedDeviceOptions) {
    this.#options = options
    this.id = options.device.id
    this.#body = createBody(options.random)
    this.#startedAt = options.now()
    this.#movedAt = this.#startedAt
    this.#heartbeatAt = this.#startedAt
    this.#updater = this.#openUpdater()
    this.#client = this.#connect()
  }

  isConnected(): boolean {
    return this.#client.connected
  }

  /** Advances to this instant, and reports if the interval has passed. */
  tick(now: number): void {
    this.#body = step(this.#body, (now - this.#movedAt) / 1000, this.#options.random)
    this.#movedAt = now
    for (const ack of this.#orders.finish(this.#body, this.#time())) this.#send('command/ack', ack)
    // A report that cannot be sent now is not worth sending later.
    if (!this.#client.connected || this.#inFlight > IN_FLIGHT_MAX) return
    if (now - this.#reportedAt >= reportIntervalMs(this.#reported)) {
      this.#reportedAt = now
      this.#send('telemetry', reportOf(this.#options.device.type, this.#body, this.#time()))
    }
    if (now - this.#heartbeatAt < HEARTBEAT_EVERY_MS) return
    this.#heartbeatAt = now
    this.#send('status', this.#status('online', 'heartbeat'), true)
  }

  /** Says goodbye if it can, and disconnects. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    if (this.#isOff) return
    const isConnected = this.#client.connected
    if (isConnected) this.#send('status', this.#status('offline', 'shutdown'), true)
    await this.#client.endAsync(!isConnected)
  }

  #openUpdater(): Updater {
    const { signal } = this.#stopped
    return new Updater(FIRMWARE, this.#options.updates, {
      say: (report) => this.#send('ota/status', { ...report, timestamp: this.#time() }),
      download: (message, progress) => fetchImage(message, progress, signal),
      // A device that is stopped in the middle of an update does nothing more.
      sleep: (ms) => sleep(ms, undefined, { signal }).catch(() => new Promise(() => {})),
      reboot: (version) => this.#reboot(version),
    })
  }

  /** The connection ends without a word, and the client is back after its usual delay. */
  async #reboot(version: string | undefined): Promise<void> {
    if (version === undefined) {
      this.#isOff = true
      await this.#client.endAsync(true)
      return
    }
    this.#bootId = randomUUID()
    this.#startedAt = this.#options.now()
    this.#reported = { ...this.#reported, firmware_version: version }
    // Greeted first: whoever waits for this may say something at once.
    const isBack = new Promise<void>((resolve) => this.#client.once('connect', () => resolve()))
    this.#client.stream.destroy()
    await isBack
  }

  #connect(): MqttClient {
    const { device, mqttUrl, random } = this.#options
    const client = mqtt.connect(mqttUrl, {
      clientId: device.id,
      username: device.id,
      password: device.deviceToken,
      clean: false,
      protocolVersion: 4,
      keepalive: 60,
      // The delay is spread, so that not everybody returns at the moment the service is back.
      reconnectPeriod: RECONNECT_AFTER_MS * (1 + 2 * random()),
      will: this.#will(),
    })
    client.on('connect', () => this.#greet())
    client.on('close', () => {
      // The next session's will carries that session's id.
      this.#sessionId = randomUUID()
      client.options.will = this.#will()
    })
    client.on('error', (error) => {
      if (!('code' in error) || !REFUSED_CODES.includes(error.code)) return
      client.end(true)
      this.#options.refused(this.id, error.message)
    })
    client.on('message', (topic, payload) => this.#receive(topic, payload))
    return client
  }

  #greet(): void {
    this.#client.subscribe([this.#topic('command'), this.#topic('shadow/desired'), this.#topic('ota')], {
      qos: 1,
    })
    this.#send('status', this.#status('online', 'connect'), true)
    this.#send('shadow/reported', this.#reported, true)
  }

  #receive(topic: string, payload: Uint8Array): void {
    const message = parsePayload(payload)
    if (message === undefined) return
    if (topic === this.#topic('command')) {
      const { body, acks } = this.#orders.take(this.#body, message, this.#time())
      this.#body = body
      for (const ack of acks) this.#send('command/ack', ack)
      return
    }
    if (topic === this.#topic('ota')) {
      this.#updater.take(message)
      return
    }
    const applied = applyDesired(this.#reported, message)
    if (applied === undefined) return
    this.#reported = applied.reported
    this.#send('shadow/reported', applied.publish, true)
  }

  #send(suffix: string, message: JsonObject, retain = false): void {
    this.#inFlight++
    this.#client.publish(this.#topic(suffix), JSON.stringify(message), { qos: 1, retain }, () => {
      this.#inFlight--
    })
  }

  #status(status: 'online' | 'offline', reason: string): JsonObject {
    return {
      status,
      session_id: this.#sessionId,
      seq: this.#seq++,
      timestamp: this.#time(),
      reason,
      uptime_sec: Math.round((this.#options.now() - this.#startedAt) / 1000),
      firmware_version: this.#updater.version,
      boot_id: this.#bootId,
      capabilities: { commands: COMMANDS },
    }
  }

  #will() {
    const payload = Buffer.from(JSON.stringify(this.#status('offline', 'lwt')))
    return { topic: this.#topic('status'), payload, qos: 1 as const, retain: true }
  }

  #topic(suffix: string): string {
    return `fleet/${this.id}/${suffix}`
  }

  #time(): string {
    return new Date(this.#options.now()).toISOString()
  }
}
