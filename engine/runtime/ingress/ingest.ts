// The ingress puts device messages and requests into bundles by partition, and bundles into the log together. Only what
// is durable is acknowledged (R1, R12). A message's way goes on in `runner/source.ts`, which reads the log.
//
// - One append is in flight at a time. Messages that arrive meanwhile form the next one, so a slow disk makes larger
//   appends, not a longer queue of them.
// - A failed append is retried with the same device messages until it succeeds. Nothing was acknowledged, so nothing is
//   lost, and no later message overtakes.
// I3. Receive times are unique and increasing (`receive-clock.ts`).
// I4. Requests are not retried: the caller is told at once, and the request will not happen later.
// I5. While the log does not answer an append, callers get no answer either. After a while new requests are refused.
import { Buffer } from 'node:buffer'
import { type DeviceId, Micros, type Millis, type Partition, toMillis } from '../../../schemas/ids.ts'
import { FLAG_REPLAY, ITEM, type Item } from '../../domain/bundle.ts'
import { LIMITS } from '../../limits.ts'
import type { DeviceSession, UplinkMessage } from '../../ports/broker.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { Log } from '../../ports/log.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { type Append, flagsOf, withoutRequests } from './append.ts'
import { Collector } from './collector.ts'
import { ReceiveClock } from './receive-clock.ts'

type SessionKind = typeof ITEM.opened | typeof ITEM.listening | typeof ITEM.closed

export interface IngestCounts {
  readonly messages: number
  readonly appends: number
  readonly appendFailures: number
  readonly bytes: number
  readonly pendingBytes: number
}

/** The device that a message is about: its partition and its id as bytes. */
export interface SubDevice {
  readonly partition: Partition
  readonly idBytes: Uint8Array
}

const NO_BYTES = new Uint8Array(0)

export class Ingest {
  readonly #log: Log
  readonly #clock: Clock
  readonly #schedule: Schedule
  readonly #isOutside: boolean
  readonly #times: ReceiveClock
  readonly #collector = new Collector()
  /** How long collected items may wait, counted from the last append. */
  #gatherMs = Infinity
  /** Appends that have reached their largest size and wait for their turn. */
  #sealed: Append[] = []
  #sealedBytes = 0
  #underWay: Promise<void> | undefined
  #underWayAppend: Append | undefined
  #underWayBytes = 0
  #underWaySince = 0
  #lastAppendTicks = 0
  /** When the next append begins, in ticks. Infinite if none is planned. */
  #plannedAt = Infinity
  #isClosed = false
  /** The log takes nothing more in this incarnation of the process. */
  #hasFailed = false
  readonly #fatal: (fault: Fault) => void
  #fault: Fault | undefined
  #totals = { messages: 0, appends: 0, appendFailures: 0, bytes: 0 }
  readonly #suffixes = new Map<string, Uint8Array>()

  constructor(options: {
    log: Log
    clock: Clock
    schedule: Schedule
    fatal: (fault: Fault) => void
    /** Whether the broker acknowledges messages by itself, so that no device waits for an append. */
    isOutside?: boolean
  }) {
    this.#log = options.log
    this.#isOutside = options.isOutside === true
    this.#clock = options.clock
    this.#schedule = options.schedule
    this.#fatal = options.fatal
    this.#times = new ReceiveClock(options.clock, options.log.latestAt())
  }

  /** Returns a time that no other message has or will get (I3). */
  nextAt(): Micros {
    return this.#times.nextAt()
  }

  /** Returns the time that messages get now. */
  now(): Millis {
    return this.#times.now()
  }

  /** Makes times continue after those that another node may have given. */
  follow(at: Millis): void {
    this.#times.follow(at)
  }

  /** Every message received before the returned time is durable. */
  durableUpTo(): Millis {
    const since = this.#underWaySince || this.#sealed[0]?.firstAt || this.#collector.firstAt
    return since === 0 ? this.now() : toMillis(Micros(since))
  }

  /** Called about every quarter second. Keeps time going, and notices a log that does not answer. */
  advance(): void {
    this.#times.advance()
    const appendMs = this.#clock.ticks() - this.#lastAppendTicks
    if (this.#underWay !== undefined && appendMs > LIMITS.appendStalledMs) this.#stall()
  }

  message(session: DeviceSession, message: UplinkMessage): void {
    this.#addMessage(session, session, message)
  }

  /** Notes a message on a topic that is not the device's, for its dead letters. Nobody waits for it. */
  stray(session: DeviceSession, suffix: string, payload: Uint8Array): void {
    if (this.#isClosed || this.isCongested()) return
    const kept = payload.subarray(0, LIMITS.deadLetterPayloadBytesMax)
    const item = this.#item({ kind: ITEM.message, id: session.idBytes, payload: kept })
    this.#add(session.partition, { ...item, suffix: Buffer.from(suffix) })
  }

  /** Acknowledges once, as for a message, when everything before is durable. */
  sync(session: DeviceSession): void {
    const last = this.#sealed.at(-1) ?? this.#underWayAppend
    if (this.#collector.bytes > 0) this.#collector.count(session)
    else if (last === undefined) session.durable(1)
    else {
      last.sessions.push(session)
      last.counts.push(1)
    }
  }

  /** Takes a gateway's message for a sub-device, with that device's own suffix. */
  relayed(session: DeviceSession, device: SubDevice, message: UplinkMessage): void {
    this.#addMessage(session, device, message)
    // Once per append, because the gateway's sign of life goes into another partition than the message.
    if (message.will || !this.#collector.isFirstRelay(session)) return
    const heard = this.#item({ kind: ITEM.heard, id: session.idBytes, payload: NO_BYTES })
    this.#add(session.partition, heard, this.#gatherMsFor(message))
  }

  /** Takes a dead letter again. Resolves once it is durable. After a rejection it may still get into the log. */
  replayed(
    { partition, idBytes }: SubDevice,
    { via, origin, suffix, payload }: Pick<Item, 'via' | 'origin' | 'suffix' | 'payload'>,
  ): Promise<void> {
    if (this.#isClosed || this.#fault !== undefined || this.isCongested())
      return Promise.reject(this.#fault ?? new Fault('OVERLOADED', { retryable: true }))
    return new Promise((resolve, reject) => {
      const item = this.#item({ kind: ITEM.message, id: idBytes, payload })
      this.#add(partition, { ...item, flags: FLAG_REPLAY, via, origin, suffix })
      this.#collector.onSettled((fault) => (fault === undefined ? resolve() : reject(fault)))
      this.#plan()
    })
  }

  session(kind: SessionKind, { partition, idBytes }: DeviceSession, payload: Uint8Array): void {
    this.#add(partition, this.#item({ kind, id: idBytes, payload }))
  }

  /** Tells a sub-device of its gateway's session. */
  relay(
    session: DeviceSession,
    { partition, idBytes }: SubDevice,
    { kind, payload }: { readonly kind: SessionKind; readonly payload: Uint8Array },
  ): void {
    this.#add(partition, { ...this.#item({ kind, id: idBytes, payload }), via: session.idBytes })
  }

  /** Notes that the device acknowledged a command. Nobody waits for that: if it gets lost, the command is sent again. */
  delivered(deviceId: DeviceId, partition: Partition, payload: Uint8Array): void {
    if (this.#isClosed || this.isCongested()) return
    this.#add(partition, this.#item({ kind: ITEM.delivered, id: Buffer.from(deviceId, 'latin1'), payload }))
  }

  /** Resolves once the request is durable. Rejects if it did not get into the log and never will (I4). */
  request(deviceId: DeviceId, partition: Partition, payload: Uint8Array): Promise<void> {
    if (this.#isClosed)
      return Promise.reject(new Fault('LOG_UNAVAILABLE', { retryable: true, message: 'shutting down' }))
    // While the log fails, no request is accepted, so none pile up.
    if (this.#fault !== undefined) return Promise.reject(this.#fault)
    if (this.isCongested()) return Promise.reject(new Fault('OVERLOADED', { retryable: true }))
    return new Promise((resolve, reject) => {
      this.#add(partition, this.#item({ kind: ITEM.request, id: Buffer.from(deviceId, 'latin1'), payload }))
      // Registered after the item is added, because the item may open a new append.
      this.#collector.onSettled((fault) => (fault === undefined ? resolve() : reject(fault)))
      this.#plan()
    })
  }

  isCongested(): boolean {
    return this.#pendingBytes() > LIMITS.ingestPendingBytesMax
  }

  /** The fault that appends currently fail with. */
  fault(): Fault | undefined {
    return this.#fault
  }

  counts(): IngestCounts {
    return { ...this.#totals, pendingBytes: this.#pendingBytes() }
  }

  /** Resolves when everything taken so far is durable. */
  async drain(): Promise<void> {
    while (!this.#hasFailed && (this.#underWay !== undefined || this.#isWaiting())) {
      if (this.#underWay === undefined) this.#begin()
      await this.#underWay
      if (this.#fault !== undefined) return
    }
  }

  /** Does not wait for a log that hangs. What the log was given is not acknowledged. */
  async close(): Promise<void> {
    this.#isClosed = true
    let stop = () => {}
    const hung = new Promise<void>((resolve) => {
      let appends = this.#totals.appends
      stop = this.#schedule.every(LIMITS.ingestStopTimeoutMs, () => {
        if (appends === this.#totals.appends) resolve()
        appends = this.#totals.appends
      })
    })
    await Promise.race([this.drain(), hung])
    stop()
  }

  #pendingBytes(): number {
    return this.#collector.bytes + this.#sealedBytes + this.#underWayBytes
  }

  #isWaiting(): boolean {
    return this.#collector.bytes > 0 || this.#sealed.length > 0
  }

  #suffix(text: string): Uint8Array {
    const known = this.#suffixes.get(text)
    if (known !== undefined) return known
    const bytes = Buffer.from(text, 'utf8')
    if (this.#suffixes.size < 1_024) this.#suffixes.set(text, bytes)
    return bytes
  }

  #addMessage(session: DeviceSession, device: SubDevice, message: UplinkMessage): void {
    const item = {
      kind: ITEM.message,
      flags: flagsOf(message),
      receivedAt: this.nextAt(),
      id: device.idBytes,
      via: device === session ? NO_BYTES : session.idBytes,
      origin: message.origin ?? NO_BYTES,
      suffix: this.#suffix(message.suffix),
      payload: message.payload,
    }
    this.#add(device.partition, item, this.#gatherMsFor(message))
    this.#collector.count(session)
    this.#totals.messages++
  }

  // Written out field by field, like `#addMessage`: spreading two objects costs several times as much, for every request.
  #item({ kind, id, payload }: Pick<Item, 'kind' | 'id' | 'payload'>): Item {
    return {
      kind,
      flags: 0,
      receivedAt: this.nextAt(),
      id,
      via: NO_BYTES,
      origin: NO_BYTES,
      suffix: NO_BYTES,
      payload,
    }
  }

  #gatherMsFor({ suffix, will }: UplinkMessage): number {
    const isReport = !will && (suffix.startsWith('telemetry') || suffix === 'log')
    return this.#isOutside && isReport ? LIMITS.gatherReportsMs : this.#defaultGatherMs
  }

  /** How long anything but a report may wait. */
  get #defaultGatherMs(): number {
    return this.#isOutside ? LIMITS.gatherOutsideMs : LIMITS.gatherMs
  }

  #add(partition: Partition, item: Item, gatherMs = this.#defaultGatherMs): void {
    if (this.#collector.isFull(partition)) this.#seal()
    this.#collector.add(partition, item)
    this.#gatherMs = Math.min(this.#gatherMs, gatherMs)
    this.#plan()
  }

  /** Appends at once after a pause. Under load it waits a little, so that bundles fill. */
  #plan(): void {
    if (this.#underWay !== undefined) return
    const { hasRequests, bytes } = this.#collector
    const isHurried = hasRequests || this.#sealed.length > 0 || bytes > LIMITS.gatherBytesMax
    const at = this.#lastAppendTicks + (isHurried ? LIMITS.gatherMs : this.#gatherMs)
    if (at >= this.#plannedAt) return
    this.#plannedAt = at
    this.#schedule.after(Math.max(0, at - this.#clock.ticks()), () => {
      if (this.#plannedAt !== at) return
      this.#plannedAt = Infinity
      if (this.#underWay === undefined && this.#isWaiting()) this.#begin()
    })
  }

  #seal(): void {
    const append = this.#collect()
    this.#sealed.push(append)
    this.#sealedBytes += append.bytes
  }

  #begin(): void {
    if (this.#hasFailed) return
    const sealed = this.#sealed.shift()
    if (sealed !== undefined) this.#sealedBytes -= sealed.bytes
    const append = sealed ?? this.#collect()
    this.#lastAppendTicks = this.#clock.ticks()
    this.#underWayAppend = append
    this.#underWayBytes = append.bytes
    this.#underWaySince = append.firstAt
    this.#underWay = this.#append(append).finally(() => {
      this.#underWay = undefined
      this.#underWayAppend = undefined
      this.#underWayBytes = 0
      this.#underWaySince = 0
      if (this.#isWaiting() && !this.#isClosed) this.#plan()
    })
  }

  #collect(): Append {
    this.#gatherMs = Infinity
    return this.#collector.take(this.#times.latestAt)
  }

  async #append(collected: Append): Promise<void> {
    let append = collected
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#log.append(append.bundles, append.latestAt)
        break
      } catch (error) {
        this.#totals.appendFailures++
        const fault =
          error instanceof Fault ? error : new Fault('LOG_UNAVAILABLE', { retryable: true, cause: error })
        this.#fault = fault
        if (attempt === 0) append = this.#refuseRequests(append, fault)
        if (!fault.retryable) {
          this.#hasFailed = true
          this.#fatal(fault)
        }
        if (this.#isClosed || this.#hasFailed) return
        // If nothing is left to retry, the next append shows whether the log works again.
        const isOver = append.bundles.length === 0
        const delayMs = isOver ? Infinity : LIMITS.appendRetryMs * 2 ** attempt
        await this.#schedule.sleep(Math.min(delayMs, LIMITS.appendRetryMsMax))
      }
    }
    this.#fault = undefined
    this.#totals.appends++
    this.#totals.bytes += append.bytes
    for (let i = 0; i < append.sessions.length; i++) append.sessions[i]?.durable(append.counts[i] ?? 0)
    for (const settled of append.settled) settled(undefined)
  }

  /** Refuses the requests that would wait behind the append (I5). Requests in the append itself go on waiting. */
  #stall(): void {
    if (this.#fault !== undefined) return
    this.#fault = new Fault('LOG_UNAVAILABLE', { retryable: true, message: 'the log does not answer' })
    this.#refuseWaiting(this.#fault)
  }

  /** Refuses the requests of the append and those behind it (I4), and returns the append without them. */
  #refuseRequests(append: Append, fault: Fault): Append {
    this.#refuseWaiting(fault)
    return withoutRequests(append, fault)
  }

  #refuseWaiting(fault: Fault): void {
    this.#sealed = this.#sealed.map((one) => withoutRequests(one, fault))
    this.#sealedBytes = this.#sealed.reduce((sum, { bytes }) => sum + bytes, 0)
    if (this.#collector.hasRequests) {
      const waiting = withoutRequests(this.#collect(), fault)
      // The messages stay collected, and later ones go behind them.
      this.#sealed.push(waiting)
      this.#sealedBytes += waiting.bytes
    }
  }
}
