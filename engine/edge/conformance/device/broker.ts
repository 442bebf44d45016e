// The broker that a device under examination connects to. It does what it is told to: refuses, stays silent, keeps PUBACKs
// back, cuts the connection. It serves one device, and writes down all that it sees.
import { EventEmitter } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { JsonObject } from '../../../../schemas/json.ts'
import { UnmetCheck } from '../verdict.ts'
import { BrokerConnection } from './broker-connection.ts'
import type { Manners } from './manners.ts'
import type { PublishedMessage, Recording } from './recording.ts'

export interface BrokerOptions {
  readonly deviceId: string
  readonly host: string
  /** 0 takes any. */
  readonly port: number
}

interface BrokerSignals {
  /** Something was seen. */
  readonly seen: []
  readonly published: [message: PublishedMessage]
}

const SUBSCRIBED_WITHIN_MS = 10_000

export class Broker extends EventEmitter<BrokerSignals> {
  readonly manners: Manners = { door: 'open', answers: true, acknowledges: () => true }
  readonly #deviceId: string
  readonly #server: Server
  readonly #connections: BrokerConnection[] = []
  #messages = 0

  private constructor(deviceId: string) {
    super({ captureRejections: false })
    this.setMaxListeners(0)
    this.#deviceId = deviceId
    this.#server = createServer((socket) => this.#take(socket))
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

  /** All connections so far, in order. */
  get recordings(): readonly Recording[] {
    return this.#connections
  }

  /** The connection that stands now. */
  get current(): BrokerConnection | undefined {
    return this.#connections.findLast(
      ({ acceptedAt, closedAt }) => acceptedAt !== undefined && closedAt === undefined,
    )
  }

  /** How many messages the device has published. */
  get messages(): number {
    return this.#messages
  }

  /** What the device published on a topic below its own, in order, after so many messages. */
  published(suffix: string, after = 0): readonly PublishedMessage[] {
    const topic = this.topic(suffix)
    return this.#connections.flatMap(({ published }) =>
      published.filter((message) => message.topic === topic && message.number > after),
    )
  }

  topic(suffix: string): string {
    return `fleet/${this.#deviceId}/${suffix}`
  }

  /** Sends a message as soon as the device takes it. Resolves when it is sent. */
  async send(suffix: string, body: JsonObject | string | Buffer): Promise<void> {
    const topic = this.topic(suffix)
    const connection = await this.until(
      `the device subscribes to ${topic}`,
      () => (this.current?.takes(topic) === true ? this.current : undefined),
      SUBSCRIBED_WITHIN_MS,
    )
    const payload = Buffer.isBuffer(body)
      ? body
      : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    connection.send(topic, payload)
  }

  /** Waits for what the device does. Fails, with these words, if it does not. */
  async until<T>(
    what: string,
    find: () => T | undefined,
    withinMs: number,
    signal?: AbortSignal,
  ): Promise<T> {
    const found = find()
    if (found !== undefined) return found
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        this.off('seen', look)
        clearTimeout(timer)
        signal?.removeEventListener('abort', stop)
        settle()
      }
      const look = () => {
        try {
          const now = find()
          if (now !== undefined) end(() => resolve(now))
        } catch (error) {
          end(() => reject(error))
        }
      }
      const timer = setTimeout(() => {
        look()
        end(() => reject(new UnmetCheck(`not seen within ${withinMs / 1_000} s: ${what}`)))
      }, withinMs)
      const stop = () => end(() => reject(signal?.reason))
      this.on('seen', look)
      signal?.addEventListener('abort', stop)
    })
  }

  /** Breaks the connection that stands. */
  cut(): void {
    this.current?.cut()
  }

  /** Back to the ordinary treatment. A connection that was treated otherwise ends. */
  calm(): void {
    const wasOdd = !this.manners.answers
    this.manners.door = 'open'
    this.manners.answers = true
    this.manners.acknowledges = () => true
    if (wasOdd || this.current?.hasWithheld === true) this.cut()
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #take(socket: Socket): void {
    const connection = new BrokerConnection(socket, {
      manners: this.manners,
      seen: () => this.emit('seen'),
      nextNumber: () => ++this.#messages,
      published: (message) => this.emit('published', message),
      // A second connection of a client ends the first one.
      accepted: (newest) => {
        for (const other of this.#connections) if (other !== newest) other.cut()
      },
    })
    this.#connections.push(connection)
    this.emit('seen')
  }
}
