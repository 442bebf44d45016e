// One MQTT connection of a device, with its own session id and last will. Each reconnect creates a new instance.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import type { JsonObject } from '../../../schemas/json.ts'
import { AckSieve } from './ack-sieve.ts'
import type { OutgoingMessage } from './outbox.ts'
import { Publisher } from './publisher.ts'

export interface ConnectionOptions {
  readonly url: string
  readonly deviceId: string
  readonly token: string | undefined
  readonly certificate: { readonly cert: string; readonly key: string } | undefined
  readonly ca: string | undefined
  readonly keepaliveSec: number
  /** The body of a message on `status`. */
  readonly status: (status: 'online' | 'offline', reason: string, sessionId: string) => JsonObject
  readonly subscriptions: readonly string[]
}

export interface ConnectionEvents {
  /** Called when the connection is open, subscribed and announced. */
  opened(connection: Connection): void
  /** The message is acknowledged once the returned promise resolves. */
  message(suffix: string, payload: Uint8Array): Promise<void>
  /** Called once, even if the connection was never open. */
  closed(cause: { readonly refused: boolean; readonly error: Error | undefined }): void
}

const CONNECT_TIMEOUT_MS = 10_000
const LEAVE_MS_MAX = 3_000
/** Return codes of CONNACK: client identifier rejected, bad user name or password, not authorised. */
const REFUSALS: readonly unknown[] = [2, 4, 5]

export class Connection {
  readonly #options: ConnectionOptions
  readonly #events: ConnectionEvents
  readonly #sessionId = randomUUID()
  readonly #prefix: string
  readonly #client: MqttClient
  readonly #publisher: Publisher
  #error: Error | undefined
  #isClosed = false

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#options = options
    this.#events = events
    this.#prefix = `fleet/${options.deviceId}/`
    this.#publisher = new Publisher(
      (bytes) => this.#client.stream.write(bytes, 'latin1'),
      (id) => this.#client.outgoing[id] !== undefined,
    )
    this.#client = mqtt.connect(options.url, this.#clientOptions())
    this.#sieve()
    this.#client.on('connect', () => void this.#greet())
    this.#client.on('error', (error) => {
      this.#error = error
    })
    this.#client.on('close', () => this.#closed())
    // Unlike the event, this is called before PUBACK is sent.
    this.#client.handleMessage = (packet, done) => {
      const { topic, payload } = packet
      const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload
      const isOwn = topic.startsWith(this.#prefix)
      const taken = isOwn ? this.#events.message(topic.slice(this.#prefix.length), bytes) : Promise.resolve()
      taken.then(
        () => done(),
        // Not acknowledged, so the service sends it again.
        () => this.abandon(),
      )
    }
  }

  /** Resolves once the broker has acknowledged the message; with QoS 0, once it is sent. */
  publish({ suffix, payload, qos = 1 }: OutgoingMessage, retain = false): Promise<unknown> {
    const topic = this.#prefix + suffix
    if (qos === 1 && this.#client.connected) return this.#publisher.publish(topic, payload, retain)
    return this.#client.publishAsync(topic, payload, { qos, retain })
  }

  announce(reason: string): Promise<unknown> {
    return this.#say('online', reason)
  }

  /** Publishes an offline status if it can, and disconnects. A broker that has gone silent is not waited for. */
  async leave(reason: string): Promise<void> {
    const late = new AbortController()
    const isTooLate = sleep(LEAVE_MS_MAX, undefined, { signal: late.signal }).catch(() => undefined)
    await Promise.race([this.#leaveInOrder(reason), isTooLate])
    late.abort()
    this.#client.end(true)
  }

  async #leaveInOrder(reason: string): Promise<void> {
    if (this.#client.connected) await this.#say('offline', reason).catch(() => undefined)
    await this.#client.endAsync()
  }

  /** Breaks the connection. The broker publishes the last will. */
  abandon(): void {
    this.#client.end(true)
  }

  /** Puts the sieve between the stream and the client. */
  #sieve(): void {
    const { stream } = this.#client
    const readers = stream.listeners('data')
    const sieve = new AckSieve({
      take: (id) => this.#publisher.acknowledged(id),
      pass: (bytes) => {
        for (const read of readers) read(bytes)
      },
    })
    stream.removeAllListeners('data')
    stream.on('data', (bytes: Buffer) => sieve.read(bytes))
  }

  async #greet(): Promise<void> {
    try {
      const topics = this.#options.subscriptions.map((suffix) => this.#prefix + suffix)
      const granted = await this.#client.subscribeAsync(topics, { qos: 1 })
      const refused = granted.filter(({ qos }) => qos > 2).map(({ topic }) => topic)
      if (refused.length > 0) throw new Error(`the broker refuses subscriptions to ${refused.join(', ')}`)
      await this.#say('online', 'connect')
      this.#events.opened(this)
    } catch (error) {
      this.#error = error instanceof Error ? error : new Error(String(error))
      this.abandon()
    }
  }

  #say(status: 'online' | 'offline', reason: string): Promise<unknown> {
    const body = this.#options.status(status, reason, this.#sessionId)
    return this.publish({ suffix: 'status', payload: JSON.stringify(body) }, true)
  }

  #closed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#publisher.close()
    this.#client.end(true)
    const code = this.#error !== undefined && 'code' in this.#error ? this.#error.code : undefined
    this.#events.closed({ refused: REFUSALS.includes(code), error: this.#error })
  }

  #clientOptions(): IClientOptions {
    const { deviceId, token, certificate, ca, keepaliveSec, status } = this.#options
    return {
      clientId: deviceId,
      messageIdProvider: this.#publisher.ids,
      username: deviceId,
      ...(token !== undefined && { password: token }),
      ...(certificate !== undefined && { cert: certificate.cert, key: certificate.key }),
      ...(ca !== undefined && { ca }),
      clean: false,
      protocolVersion: 4,
      keepalive: keepaliveSec,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // The device reconnects by itself, with another session id and will.
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      will: {
        topic: `${this.#prefix}status`,
        payload: Buffer.from(JSON.stringify(status('offline', 'lwt', this.#sessionId))),
        qos: 1,
        retain: true,
      },
    }
  }
}
