// Processes the messages of one route from ROS to the service: throttles, converts, drops unchanged ones and counts.
import type { JsonObject } from '../../../../schemas/json.ts'
import { MQTT_LIMITS } from '../../../../schemas/mqtt-limits.ts'
import type { Clock } from '../clock.ts'
import type { UplinkRoute } from '../config/route.ts'
import { isChanged } from './change.ts'
import { RouteWatch } from './route-watch.ts'
import { Throttle } from './throttle.ts'
import { type ConvertedMessage, convert } from './to-telemetry.ts'

export type Send = (converted: ConvertedMessage, qos: 0 | 1 | 2) => void

interface HeldMessage {
  readonly message: JsonObject
  readonly receivedMicros: number
  readonly bytes: number
}

const { payloadBytesMax } = MQTT_LIMITS

export class Uplink {
  readonly route: UplinkRoute
  readonly watch: RouteWatch
  readonly #clock: Clock
  readonly #send: Send
  readonly #throttle: Throttle<HeldMessage>
  readonly #startedAt: number
  #stopTimer: () => void = () => undefined
  #last: JsonObject | undefined
  #received = 0
  #receivedMicros = 0
  #dropped = 0
  #countedAt: number

  constructor(route: UplinkRoute, clock: Clock, send: Send) {
    this.route = route
    this.#clock = clock
    this.#send = send
    this.#throttle = new Throttle(route.throttleMs)
    this.#startedAt = clock.elapsedMs()
    this.#countedAt = this.#startedAt
    this.watch = new RouteWatch(route.timeoutMs, this.#startedAt)
  }

  /** Processes a message. Returns true if it ended a silence. */
  take(message: JsonObject, bytes: number): boolean {
    const now = this.#clock.elapsedMs()
    const hasEnded = this.watch.heard(now)
    this.#received++
    if (bytes > this.route.bytesMax) {
      this.#dropped++
      return hasEnded
    }
    const held = { message, receivedMicros: this.#timeOf(this.#clock.now()), bytes }
    const outcome = this.#throttle.offer(held, now)
    if (outcome === 'send') this.#forward(held)
    else if (outcome === 'held') this.#sendLater(now)
    return hasEnded
  }

  /** Counts a message that was too large to be read. Returns true if it ended a silence. */
  refuse(): boolean {
    this.#received++
    this.#dropped++
    return this.watch.heard(this.#clock.elapsedMs())
  }

  /** Returns what to do against a silence if something is due. */
  checkForSilence(): ReturnType<RouteWatch['check']> {
    return this.watch.check(this.#clock.elapsedMs())
  }

  /** Returns the metrics since the previous call. */
  status(): JsonObject {
    const now = this.#clock.elapsedMs()
    const seconds = Math.max(1, now - this.#countedAt) / 1_000
    const hz = Math.round((this.#received / seconds) * 100) / 100
    this.#received = 0
    this.#countedAt = now
    return {
      hz,
      age_sec: Math.round((now - this.watch.silentSince) / 100) / 10,
      dropped: this.#dropped,
      stale: this.watch.isStale ? 1 : 0,
    }
  }

  close(): void {
    this.#stopTimer()
  }

  /** Returns the time of receipt in microseconds. Messages of the same millisecond get different times, because the
   *  service identifies a point by its time. */
  #timeOf(now: number): number {
    const micros = now * 1_000
    const isTaken = this.#receivedMicros >= micros && this.#receivedMicros < micros + 999
    this.#receivedMicros = isTaken ? this.#receivedMicros + 1 : micros
    return this.#receivedMicros
  }

  #sendLater(now: number): void {
    const dueAt = this.#throttle.dueAt ?? now
    this.#stopTimer = this.#clock.after(Math.ceil(dueAt - now), () => {
      const held = this.#throttle.take(Math.max(dueAt, this.#clock.elapsedMs()))
      if (held !== undefined) this.#forward(held)
    })
  }

  #forward({ message, receivedMicros, bytes }: HeldMessage): void {
    const converted = convert(this.route, message, receivedMicros)
    if (converted === undefined || !isSmall(converted, bytes)) {
      this.#dropped++
      return
    }
    this.#dropped += converted.byteArrays ?? 0
    if (this.route.onChange) {
      const { timestamp, ...values } = converted.body
      if (this.#last !== undefined && !isChanged(this.#last, values, this.route.minChange)) return
      this.#last = values
    }
    this.#send(converted, this.route.qos)
  }
}

/** `bytes` is the size of the received frame. Escapes and timestamps make the body a little longer, but never four
 *  times as long, so that small frames need no check. */
function isSmall({ body }: ConvertedMessage, bytes: number): boolean {
  return bytes <= payloadBytesMax / 4 || Buffer.byteLength(JSON.stringify(body)) <= payloadBytesMax
}
