// The ingress: device messages and requests go into bundles by partition, bundles into the log together, and
// only what is durable is acknowledged (R1, R12).
//
// I1. One append is under way at a time; what arrives meanwhile makes the next one, so a slow disk makes larger
//     appends, not a longer queue of them.
// I2. A failed append is tried again with the same device messages until it succeeds: nothing was acknowledged, so
//     nothing is lost, and nothing behind it overtakes.
// I3. Receive times are unique and increasing over all devices of this process, and across restarts. When the clock
//     is set back they go on from where they were, at half the pace of time, until the clock has caught up; after
//     a restart meanwhile, from the last message.
// I4. Requests are not tried again: who asked is told at once, and what was asked for does not happen later.
// I5. Of an append that the log says nothing about, nothing is said either. After a while nothing new is promised
//     behind it.
import { Buffer } from 'node:buffer'
import { type DeviceId, Micros, Millis, Partition, toMillis } from '../../../schemas/ids.ts'
import { BundleWriter, ITEM, type ItemKind } from '../../domain/bundle.ts'
import { LIMITS } from '../../limits.ts'
import type { DeviceSession, UplinkMessage } from '../../ports/broker.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { Bundle, Log } from '../../ports/log.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { type Append, flagsOf, withoutRequests } from './append.ts'

export interface IngestCounts {
  readonly messages: number
  readonly appends: number
  readonly appendFailures: number
  readonly bytes: number
  readonly pendingBytes: number
}

/** Where messages of a sub-device go. */
export interface SubDevice {
  readonly partition: Partition
  readonly idBytes: Uint8Array
}

const NO_BYTES = new Uint8Array(0)
const LINGER_MS = 3
/** Receive times that are further ahead of the clock are so because the clock was set back. */
const AHEAD_MICROS = 1_000_000

export class Ingest {
  readonly #log: Log
  readonly #clock: Clock
  readonly #schedule: Schedule
  readonly #writers: BundleWriter[] = []
  /** Partitions with items that are not yet under way. */
  #filled: number[] = []
  /** Appends as large as they may be, waiting for their turn. */
  #sealed: Append[] = []
  #sealedBytes = 0
  /** The receive time of the first item collected; 0 while there is none. */
  #firstAt = 0
  #sessions: DeviceSession[] = []
  #counts: number[] = []
  /** Gateways that spoke for a sub-device in what is collected. */
  readonly #heard = new Set<DeviceSession>()
  #settled: ((fault: Fault | undefined) => void)[] = []
  #collectedBytes = 0
  #latestAt: number
  #underWay: Promise<void> | undefined
  #underWayAppend: Append | undefined
  #underWayBytes = 0
  #underWaySince = 0
  #lastAppendTicks = 0
  #isScheduled = false
  #isClosed = false
  /** The log will take nothing more in this incarnation of the process. */
  #isDead = false
  #lastTicks: number
  readonly #fatal: (fault: Fault) => void
  #fault: Fault | undefined
  #totals = { messages: 0, appends: 0, appendFailures: 0, bytes: 0 }
  readonly #suffixes = new Map<string, Uint8Array>()

  constructor(options: { log: Log; clock: Clock; schedule: Schedule; fatal: (fault: Fault) => void }) {
    this.#log = options.log
    this.#clock = options.clock
    this.#schedule = options.schedule
    this.#fatal = options.fatal
    this.#lastTicks = options.clock.ticks()
    this.#latestAt = options.log.latestAt()
    for (let partition = 0; partition < LIMITS.partitions; partition++) this.#writers.push(new BundleWriter())
  }

  /** A time that no other message has or will get (I3). */
  nextAt(): Micros {
    const now = this.#clock.now() * 1000
    this.#latestAt = now > this.#latestAt ? now : this.#latestAt + 1
    return Micros(this.#latestAt)
  }

  /** The time messages get now. */
  now(): Millis {
    return Millis(Math.max(this.#clock.now(), Math.floor(this.#latestAt / 1000)))
  }

  /** Every message received before is durable. */
  durableUpTo(): Millis {
    const since = this.#underWaySince || this.#sealed[0]?.firstAt || this.#firstAt
    return since === 0 ? this.now() : toMillis(Micros(since))
  }

  /** Called every quarter second or so: time goes on although the clock was set back (I3). */
  advance(): void {
    const ticks = this.#clock.ticks()
    const passed = ticks - this.#lastTicks
    this.#lastTicks = ticks
    if (this.#latestAt - this.#clock.now() * 1000 > AHEAD_MICROS)
      this.#latestAt += Math.floor((passed * 1000) / 2)
    if (this.#underWay !== undefined && ticks - this.#lastAppendTicks > LIMITS.appendStalledMs) this.#stall()
  }

  message(session: DeviceSession, message: UplinkMessage): void {
    this.#say(session, session, NO_BYTES, message)
  }

  /** Answered like a message, once all that came before is durable. */
  sync(session: DeviceSession): void {
    const last = this.#sealed.at(-1) ?? this.#underWayAppend
    if (this.#collectedBytes > 0) this.#count(session)
    else if (last === undefined) session.durable(1)
    else {
      last.sessions.push(session)
      last.counts.push(1)
    }
  }

  /** A gateway's message for a sub-device, with that device's own suffix. */
  relayed(session: DeviceSession, device: SubDevice, message: UplinkMessage): void {
    this.#say(session, device, session.idBytes, message)
    if (message.will || this.#heard.has(session)) return
    // Once per append: the sign of life is in another partition than the message.
    this.#heard.add(session)
    this.#add(ITEM.heard, 0, session.partition, session.idBytes, NO_BYTES, NO_BYTES, NO_BYTES)
  }

  #say(
    session: DeviceSession,
    { partition, idBytes }: SubDevice,
    via: Uint8Array,
    message: UplinkMessage,
  ): void {
    const suffix = this.#suffix(message.suffix)
    this.#add(
      ITEM.message,
      flagsOf(message),
      partition,
      idBytes,
      via,
      suffix,
      message.payload,
      message.origin,
    )
    this.#count(session)
    this.#totals.messages++
  }

  #count(session: DeviceSession): void {
    // A socket's read holds many messages of one session: they are counted as one run.
    const last = this.#sessions.length - 1
    if (last >= 0 && this.#sessions[last] === session) this.#counts[last] = (this.#counts[last] ?? 0) + 1
    else {
      this.#sessions.push(session)
      this.#counts.push(1)
    }
  }

  session(
    kind: typeof ITEM.opened | typeof ITEM.listening | typeof ITEM.closed,
    session: DeviceSession,
    payload: Uint8Array,
  ): void {
    this.#add(kind, 0, session.partition, session.idBytes, NO_BYTES, NO_BYTES, payload)
  }

  /** The same for a sub-device of the gateway whose session it is. */
  relay(
    kind: typeof ITEM.opened | typeof ITEM.listening | typeof ITEM.closed,
    session: DeviceSession,
    payload: Uint8Array,
    { partition, idBytes }: SubDevice,
  ): void {
    this.#add(kind, 0, partition, idBytes, session.idBytes, NO_BYTES, payload)
  }

  /** The device has what it was sent. Nobody waits for it: unless it gets into the log, it is sent again. */
  delivered(deviceId: DeviceId, partition: Partition, payload: Uint8Array): void {
    if (this.#isClosed || this.isCongested()) return
    this.#add(ITEM.delivered, 0, partition, Buffer.from(deviceId, 'latin1'), NO_BYTES, NO_BYTES, payload)
  }

  /** Resolves once the request is durable, with its receive time. Rejects when it did not get into the log. */
  request(deviceId: DeviceId, partition: Partition, payload: Uint8Array): Promise<void> {
    if (this.#isClosed)
      return Promise.reject(new Fault('LOG_UNAVAILABLE', { retryable: true, message: 'shutting down' }))
    // While the log is failing nothing is promised, and nothing piles up behind the promise.
    if (this.#fault !== undefined) return Promise.reject(this.#fault)
    if (this.isCongested()) return Promise.reject(new Fault('OVERLOADED', { retryable: true }))
    return new Promise((resolve, reject) => {
      this.#add(ITEM.request, 0, partition, Buffer.from(deviceId, 'latin1'), NO_BYTES, NO_BYTES, payload)
      // Only now: it may have been the first item of another append.
      this.#settled.push((fault) => (fault === undefined ? resolve() : reject(fault)))
    })
  }

  isCongested(): boolean {
    return this.#pendingBytes() > LIMITS.ingestPendingBytesMax
  }

  /** The fault that appends fail with just now. */
  fault(): Fault | undefined {
    return this.#fault
  }

  counts(): IngestCounts {
    return { ...this.#totals, pendingBytes: this.#pendingBytes() }
  }

  /** Resolves when everything taken so far is durable. */
  async drain(): Promise<void> {
    while (!this.#isDead && (this.#underWay !== undefined || this.#isWaiting())) {
      if (this.#underWay === undefined) this.#begin()
      await this.#underWay
      if (this.#fault !== undefined) return
    }
  }

  /** Does not wait for a log that hangs: what it was given was not acknowledged. */
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
    return this.#collectedBytes + this.#sealedBytes + this.#underWayBytes
  }

  #isWaiting(): boolean {
    return this.#collectedBytes > 0 || this.#sealed.length > 0
  }

  #suffix(text: string): Uint8Array {
    const known = this.#suffixes.get(text)
    if (known !== undefined) return known
    const bytes = Buffer.from(text, 'utf8')
    if (this.#suffixes.size < 1_024) this.#suffixes.set(text, bytes)
    return bytes
  }

  #add(
    kind: ItemKind,
    flags: number,
    partition: Partition,
    id: Uint8Array,
    via: Uint8Array,
    suffix: Uint8Array,
    payload: Uint8Array,
    origin: Uint8Array = NO_BYTES,
  ): void {
    const writer = this.#writers[partition]
    if (writer === undefined) throw new RangeError(`no partition ${partition}`)
    const isFull = writer.length >= LIMITS.bundleBytesMax - LIMITS.packetBytesMax
    if (isFull || this.#collectedBytes >= LIMITS.commitBytesMax) this.#seal()
    if (writer.length === 0) this.#filled.push(partition)
    const before = writer.length
    const receivedAt = this.nextAt()
    if (this.#firstAt === 0) this.#firstAt = receivedAt
    writer.add({ kind, flags, receivedAt, id, via, origin, suffix, payload })
    this.#collectedBytes += writer.length - before
    if (!this.#isScheduled && this.#underWay === undefined) this.#plan()
  }

  /** At once after a pause; a little later under load, when waiting fills the bundles. */
  #plan(): void {
    this.#isScheduled = true
    const rest = this.#lastAppendTicks + LINGER_MS - this.#clock.ticks()
    this.#schedule.after(Math.max(0, rest), () => {
      this.#isScheduled = false
      if (this.#underWay === undefined && this.#isWaiting()) this.#begin()
    })
  }

  #seal(): void {
    const append = this.#collect()
    this.#sealed.push(append)
    this.#sealedBytes += append.bytes
  }

  #begin(): void {
    if (this.#isDead) return
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
      if (this.#isWaiting() && !this.#isScheduled && !this.#isClosed) this.#plan()
    })
  }

  #collect(): Append {
    const bundles: Bundle[] = []
    for (const partition of this.#filled) {
      const writer = this.#writers[partition]
      if (writer !== undefined && writer.length > 0)
        bundles.push({ partition: Partition(partition), body: writer.take() })
    }
    const append: Append = {
      bundles,
      bytes: this.#collectedBytes,
      sessions: this.#sessions,
      counts: this.#counts,
      settled: this.#settled,
      firstAt: this.#firstAt,
      latestAt: Micros(this.#latestAt),
    }
    this.#firstAt = 0
    this.#filled = []
    this.#sessions = []
    this.#counts = []
    this.#settled = []
    this.#heard.clear()
    this.#collectedBytes = 0
    return append
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
          this.#isDead = true
          this.#fatal(fault)
        }
        if (this.#isClosed || this.#isDead) return
        // With nothing left to try again, the next append tells whether it is over.
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

  /** By I5. The append's own requests wait on; what would wait behind it need not. */
  #stall(): void {
    if (this.#fault !== undefined) return
    this.#fault = new Fault('LOG_UNAVAILABLE', { retryable: true, message: 'the log does not answer' })
    this.#refuseWaiting(this.#fault)
  }

  /** By I4: those of the append, which comes back without them, and those that wait behind it. */
  #refuseRequests(append: Append, fault: Fault): Append {
    this.#refuseWaiting(fault)
    return withoutRequests(append, fault)
  }

  #refuseWaiting(fault: Fault): void {
    this.#sealed = this.#sealed.map((one) => withoutRequests(one, fault))
    this.#sealedBytes = this.#sealed.reduce((sum, { bytes }) => sum + bytes, 0)
    if (this.#settled.length > 0) {
      const waiting = withoutRequests(this.#collect(), fault)
      // What was collected is collected still, with what comes going behind it.
      this.#sealed.push(waiting)
      this.#sealedBytes += waiting.bytes
    }
  }
}
