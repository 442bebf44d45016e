// The connection to a rosbridge v2 server. It reconnects by itself. After each connect it subscribes and advertises
// again, because a server forgets both when a socket closes.
import WebSocket from 'ws'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { waitBeforeConnect } from '../../device/backoff.ts'
import type { Clock } from '../clock.ts'
import { Bursts } from './bursts.ts'
import { Calls, RosError } from './calls.ts'
import { type Incoming, parseIncoming, topicOfLarge } from './incoming.ts'

export interface Subscription {
  readonly topic: string
  readonly type: string | undefined
  /** The server sends at most one message per this interval. */
  readonly throttleMs: number
  /** Larger messages are not parsed. */
  readonly bytesMax: number
}

export interface Advertisement {
  readonly topic: string
  readonly type: string
  readonly latch: boolean
}

export interface RosbridgeEvents {
  opened(): void
  /** Called only after `opened`. */
  closed(reason: string): void
  /** An attempt to connect failed. Another one follows. */
  unreachable(reason: string): void
  message(topic: string, message: JsonObject, bytes: number): void
  /** A message was too large to be read. */
  oversized(topic: string): void
  /** The server sent an error or a warning. */
  complaint(text: string): void
}

export interface RosbridgeOptions {
  readonly url: string
  readonly token: string | undefined
  readonly connectTimeoutMs: number
  readonly subscriptions: readonly Subscription[]
  readonly advertisements: readonly Advertisement[]
  readonly clock: Clock
  readonly random: () => number
}

const FRAME_BYTES_MAX = 64 * 1024 * 1024
const BACKLOG_BYTES_MAX = 16 * 1024 * 1024
const SUBSCRIBE_AGAIN_MS = 5_000
const PING_EVERY_MS = 15_000
/** A socket keeps reading into its own buffer while it is paused. With this mark it reads at most once and leaves the
 *  rest to the kernel. */
const READ_ONCE = { readableHighWaterMark: 1 }

export class Rosbridge {
  readonly #options: RosbridgeOptions
  readonly #events: RosbridgeEvents
  readonly #calls = new Calls()
  readonly #bytesMax: number
  /** The functions that cancel the next attempt to subscribe, by topic. */
  readonly #retries = new Map<string, () => void>()
  #socket: WebSocket | undefined
  #isOpen = false
  #isClosed = false
  #isAlive = false
  #failures = 0
  #stopTimer: () => void = () => undefined

  constructor(options: RosbridgeOptions, events: RosbridgeEvents) {
    this.#options = options
    this.#events = events
    this.#bytesMax = Math.max(0, ...options.subscriptions.map(({ bytesMax }) => bytesMax))
  }

  get isConnected(): boolean {
    return this.#isOpen
  }

  open(): void {
    const { url, token, connectTimeoutMs } = this.#options
    const socket = new WebSocket(url, {
      handshakeTimeout: connectTimeoutMs,
      maxPayload: FRAME_BYTES_MAX,
      perMessageDeflate: false,
      ...READ_ONCE,
      ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    })
    this.#socket = socket
    let reason = 'the server closed the connection'
    const bursts = new Bursts({
      clock: this.#options.clock,
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      afterReading: (run) => void setImmediate(run),
    })
    socket.on('open', () => this.#opened())
    socket.on('message', (data) => {
      bursts.heard()
      this.#onFrame(asBuffer(data))
    })
    socket.on('pong', () => {
      this.#isAlive = true
    })
    socket.on('error', (error: Error & { code?: string }) => {
      reason = error.message || (error.code ?? 'the connection broke')
    })
    socket.on('close', () => {
      bursts.stop()
      this.#ended(reason)
    })
  }

  close(): void {
    this.#isClosed = true
    this.#stopTimer()
    this.#socket?.terminate()
  }

  /** Breaks the connection. A new one follows. */
  reopen(): void {
    if (this.#isOpen) this.#socket?.terminate()
  }

  subscribe(topic: string): void {
    this.#retries.get(topic)?.()
    this.#retries.delete(topic)
    const subscription = this.#options.subscriptions.find((each) => each.topic === topic)
    if (!this.#isOpen || subscription === undefined) return
    this.#send({ op: 'unsubscribe', id: subscriptionId(topic), topic })
    this.#subscribe(subscription)
  }

  publish(topic: string, message: JsonObject): void {
    this.#sendOrThrow({ op: 'publish', topic, msg: message })
  }

  callService(call: {
    readonly service: string
    readonly type: string | undefined
    readonly args: JsonObject
  }): {
    readonly ended: Promise<Json>
    readonly giveUp: (error: RosError) => void
  } {
    const { service, type, args } = call
    const request = { op: 'call_service', service, args, ...(type !== undefined && { type }) }
    const { id, ended } = this.#calls.begin(
      (id) => this.#sendOrThrow({ ...request, id }),
      () => undefined,
    )
    return { ended, giveUp: (error) => this.#calls.fail(id, error) }
  }

  sendGoal(
    goal: { readonly action: string; readonly type: string; readonly args: JsonObject },
    feedback: (values: Json) => void,
  ): { readonly ended: Promise<Json>; readonly cancel: (error: RosError) => void } {
    const { action, type, args } = goal
    const { id, ended } = this.#calls.begin(
      (id) =>
        this.#sendOrThrow({ op: 'send_action_goal', id, action, action_type: type, args, feedback: true }),
      feedback,
    )
    const cancel = (error: RosError) => {
      this.#send({ op: 'cancel_action_goal', id, action })
      this.#calls.fail(id, error)
    }
    return { ended, cancel }
  }

  #opened(): void {
    const { subscriptions, advertisements } = this.#options
    this.#failures = 0
    this.#isOpen = true
    this.#isAlive = true
    for (const { topic, type, latch } of advertisements)
      this.#send({ op: 'advertise', id: `fleet:advertise:${topic}`, topic, type, latch })
    for (const subscription of subscriptions) this.#subscribe(subscription)
    this.#watchSocket()
    this.#events.opened()
  }

  #subscribe({ topic, type, throttleMs }: Subscription): void {
    this.#send({
      op: 'subscribe',
      id: subscriptionId(topic),
      topic,
      ...(type !== undefined && { type }),
      throttle_rate: Math.floor(throttleMs),
      queue_length: 1,
      compression: 'none',
    })
  }

  /** Pings the server. Without pings, TCP would take many minutes to notice a server that has lost power. */
  #watchSocket(): void {
    this.#stopTimer = this.#options.clock.after(PING_EVERY_MS, () => {
      if (!this.#isAlive) {
        this.#socket?.terminate()
        return
      }
      this.#isAlive = false
      this.#socket?.ping()
      this.#watchSocket()
    })
  }

  #onFrame(bytes: Buffer): void {
    this.#isAlive = true
    if (bytes.length > this.#bytesMax + ENVELOPE_BYTES) {
      const topic = topicOfLarge(bytes)
      if (topic !== undefined) {
        this.#events.oversized(topic)
        return
      }
    }
    const incoming = parseIncoming(bytes.toString('utf8'))
    if (incoming === undefined) this.#events.complaint('the server sent a message that is not a JSON object')
    else if (incoming.kind === 'message') this.#events.message(incoming.topic, incoming.message, bytes.length)
    else if (!this.#calls.take(incoming) && incoming.kind === 'status') this.#onStatus(incoming)
  }

  #onStatus(status: Incoming & { readonly kind: 'status' }): void {
    if (status.level !== 'error' && status.level !== 'warning') return
    this.#events.complaint(status.text)
    if (status.level !== 'error') return
    const { id, text } = status
    // Some servers name only the topic of the refused request and not its id.
    const isRefused = ({ topic }: Subscription): boolean =>
      id === undefined ? namesTopic(text, topic) : subscriptionId(topic) === id
    for (const subscription of this.#options.subscriptions.filter(isRefused))
      this.#subscribeLater(subscription)
  }

  /** Subscribes again later. The topic may not exist yet, or it may have another type until its publisher restarts. */
  #subscribeLater(subscription: Subscription): void {
    const { topic } = subscription
    this.#retries.get(topic)?.()
    const retry = () => {
      this.#retries.delete(topic)
      if (this.#isOpen) this.#subscribe(subscription)
    }
    this.#retries.set(topic, this.#options.clock.after(SUBSCRIBE_AGAIN_MS, retry))
  }

  #ended(reason: string): void {
    const wasOpen = this.#isOpen
    this.#isOpen = false
    this.#stopTimer()
    for (const stop of this.#retries.values()) stop()
    this.#retries.clear()
    const error = 'the connection to ROS broke, and it is unknown whether this was carried out'
    this.#calls.failAll(new RosError('ROS_DISCONNECTED', error))
    if (wasOpen) this.#events.closed(reason)
    else if (!this.#isClosed) this.#events.unreachable(reason)
    if (this.#isClosed) return
    const waitMs = waitBeforeConnect(this.#failures++, false, this.#options.random())
    this.#stopTimer = this.#options.clock.after(waitMs, () => this.open())
  }

  #sendOrThrow(frame: JsonObject): void {
    if (!this.#isOpen) throw new RosError('ROS_DISCONNECTED', 'the bridge is not connected to ROS')
    if ((this.#socket?.bufferedAmount ?? 0) > BACKLOG_BYTES_MAX)
      throw new RosError('ROS_BUSY', 'ROS does not read what the bridge sends fast enough; try again later')
    this.#send(frame)
  }

  #send(frame: JsonObject): void {
    if (this.#isOpen) this.#socket?.send(JSON.stringify(frame))
  }
}

/** The largest expected size of a frame without its message. */
const ENVELOPE_BYTES = 1_024

function namesTopic(text: string, topic: string): boolean {
  return text.split(/[^\w/~]+/).some((word) => word.replace(/^\//, '') === topic.replace(/^\//, ''))
}

function subscriptionId(topic: string): string {
  return `fleet:subscribe:${topic}`
}

function asBuffer(data: WebSocket.RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}
