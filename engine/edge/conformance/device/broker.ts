// The broker for a device under examination. The checks decide how it behaves: it can refuse, stay silent, withhold
// PUBACKs or break the connection. It serves one device and records everything.
import { EventEmitter } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { JsonObject } from '../../../../schemas/json.ts'
import { UnmetCheck } from '../verdict.ts'
import type { BrokerBehaviour } from './broker-behaviour.ts'
import { BrokerConnection } from './broker-connection.ts'
import type { PublishedMessage, Recording } from './recording.ts'

export interface BrokerOptions {
  readonly deviceId: string
  readonly host: string
  /** 0 chooses any free port. */
  readonly port: number
}

interface BrokerSignals {
  /** Something was recorded. */
  readonly seen: []
  readonly published: [message: PublishedMessage]
}

const SUBSCRIBED_WITHIN_MS = 10_000

export class Broker extends EventEmitter<BrokerSignals> {
  readonly behaviour: BrokerBehaviour = { onConnect: 'accept', answers: true, acknowledges: () => true }
  readonly #deviceId: string
  readonly #server: Server
  readonly #connections: BrokerConnection[] = []
  #messages = 0

  private constructor(deviceId: string) {
    super({ captureRejections: false })
    this.setMaxListeners(0)
    this.#deviceId = deviceId
    this.#server = createServer((socket) => this.#onSocket(socket))
  }

  static async open({ deviceId, host, port }: BrokerOptions): Promise<Broker> {
    const broker = new Broker(deviceId)
    await new Promise<void>((resolve, reject) => {
      broker.#server.once('error', reject).listen(port, host, resolve)
    })
    return broker
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** All connections so far, oldest first. */
  get recordings(): readonly Recording[] {
    return this.#connections
  }

  get current(): BrokerConnection | undefined {
    return this.#connections.findLast(
      ({ acceptedAt, closedAt }) => acceptedAt !== undefined && closedAt === undefined,
    )
  }

  /** The number of messages that the device has published. */
  get messages(): number {
    return this.#messages
  }

  /** Returns the messages that the device published on a topic, oldest first. `suffix` is relative to the topic of the
   *  device. Messages up to number `after` are left out. */
  published(suffix: string, after = 0): readonly PublishedMessage[] {
    const topic = this.topic(suffix)
    return this.#connections.flatMap(({ published }) =>
      published.filter((message) => message.topic === topic && message.number > after),
    )
  }

  topic(suffix: string): string {
    return `fleet/${this.#deviceId}/${suffix}`
  }

  /** Sends a message once the device has subscribed to it. Resolves when it is sent. */
  async send(suffix: string, body: JsonObject | string | Buffer): Promise<void> {
    const topic = this.topic(suffix)
    const connection = await this.until(
      `the device subscribes to ${topic}`,
      () => (this.current?.isSubscribedTo(topic) === true ? this.current : undefined),
      SUBSCRIBED_WITHIN_MS,
    )
    const payload = Buffer.isBuffer(body)
      ? body
      : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    connection.send(topic, payload)
  }

  /** Waits until `find` returns a value other than false. Throws `UnmetCheck` with the text `what` if it does not. */
  async until<T>(
    what: string,
    find: () => T | false | undefined,
    withinMs: number,
    signal?: AbortSignal,
  ): Promise<T> {
    const found = find()
    if (found !== undefined && found !== false) return found
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        this.off('seen', check)
        clearTimeout(timer)
        signal?.removeEventListener('abort', stop)
        settle()
      }
      const check = () => {
        try {
          const now = find()
          if (now !== undefined && now !== false) end(() => resolve(now))
        } catch (error) {
          end(() => reject(error))
        }
      }
      const timer = setTimeout(() => {
        check()
        end(() => reject(new UnmetCheck(`not seen within ${withinMs / 1_000} s: ${what}`)))
      }, withinMs)
      const stop = () => end(() => reject(signal?.reason))
      this.on('seen', check)
      signal?.addEventListener('abort', stop)
    })
  }

  cut(): void {
    this.current?.cut()
  }

  /** Restores the normal behaviour. Ends the current connection if it was affected by another one. */
  reset(): void {
    const wasSilent = !this.behaviour.answers
    this.behaviour.onConnect = 'accept'
    this.behaviour.answers = true
    this.behaviour.acknowledges = () => true
    if (wasSilent || this.current?.hasWithheld === true) this.cut()
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #onSocket(socket: Socket): void {
    const connection = new BrokerConnection(socket, {
      behaviour: this.behaviour,
      seen: () => this.emit('seen'),
      nextNumber: () => ++this.#messages,
      published: (message) => this.emit('published', message),
      // A new connection of a client ends the previous one.
      accepted: (newest) => {
        for (const other of this.#connections) if (other !== newest) other.cut()
      },
    })
    this.#connections.push(connection)
    this.emit('seen')
  }
}
