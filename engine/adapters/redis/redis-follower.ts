// Follows the writes of all processes in one order. Each write adds a message to a stream, and every process, including
// the writer, applies changes only from that stream. So all processes converge on the same data, and a write is complete
// once the writer has applied its own message.
//
// C1. Messages are numbered without gaps. A missing message was trimmed while this process was disconnected, so
//     everything is loaded again.
// C2. A number names the same message for ever. If it names another one, or no message, Redis has lost data.
// C3. `#currentAt` is a time at which nothing was missing here. After a pause of the process, answers that it finds are old,
//     so an answer that took too long counts for the time at which it was requested.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { RedisLink } from './redis-link.ts'

export interface FollowedStream {
  /** Key of the stream. */
  readonly stream: string
  /** Loads everything from Redis. Messages that are already part of it may be applied once more afterwards. */
  load(reader: Redis): Promise<void>
  /** Applies a message. Its fields alternate between name and value. */
  apply(fields: readonly Buffer[]): void
  /** Undefined if everything that was applied is in effect. Otherwise resolves once it is. */
  settling?(): Promise<unknown> | undefined
}

interface Waiter {
  readonly seq: number
  readonly settle: (fault?: Fault) => void
}

type Message = readonly [id: Buffer, fields: readonly Buffer[]]

const MESSAGES_AT_ONCE = 500
const START = '0-0'

export class Follower {
  readonly #link: RedisLink
  readonly #followed: FollowedStream
  readonly #reader: Redis
  readonly #key: string
  #waiters: Waiter[] = []
  #id = START
  #seq = 0
  #isLoaded = false
  #currentAt = Number.NEGATIVE_INFINITY
  /** When Redis last failed to answer a request to catch up. */
  #unansweredAt = Number.NEGATIVE_INFINITY
  #isClosed = false
  #running: Promise<void> = Promise.resolve()

  constructor(link: RedisLink, followed: FollowedStream) {
    this.#link = link
    this.#followed = followed
    this.#reader = link.openReader()
    this.#key = link.key(followed.stream)
  }

  /** Number of the last message that was applied. */
  get seq(): number {
    return this.#seq
  }

  /** Id of the last message that was applied. No other message ever has it. */
  get id(): string {
    return this.#id
  }

  /** Resolves once everything written before the call is loaded. Rejects with a `Fault`, and then it is closed. */
  async start(): Promise<void> {
    try {
      const last = await this.#link.read(async () => {
        await this.#reader.connect()
        await this.#load()
        return this.#last()
      })
      this.#running = this.#run()
      await this.untilApplied(last.seq)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  isUp(): boolean {
    return this.#isLoaded && performance.now() - this.#currentAt < LIMITS.storeStaleMsMax
  }

  /** Resolves once all messages that existed before the call are applied. */
  async catchUp(): Promise<void> {
    const requestedAt = performance.now()
    const seq = await this.#link.read((redis) => redis.get(`${this.#key}:seq`))
    await this.untilApplied(Number(seq ?? 0))
    this.#currentAt = Math.max(this.#currentAt, requestedAt)
  }

  /** Undefined if Redis answered a moment ago and everything is in effect, or if Redis is known not to answer. Otherwise
   *  resolves once this process has caught up, and after a second in any case. */
  freshen(): Promise<void> | undefined {
    const now = performance.now()
    if (isRecent(this.#unansweredAt, now)) return undefined
    if (isRecent(this.#currentAt, now) && this.#followed.settling?.() === undefined) return undefined
    return this.#tryToCatchUp(now + LIMITS.storeKnownMs)
  }

  /** Never rejects. */
  async #tryToCatchUp(until: number): Promise<void> {
    const abort = new AbortController()
    const caughtUp = this.#catchUpWithRetries(abort.signal).then(() => this.#followed.settling?.())
    const late = sleep(until - performance.now(), 'late', { signal: abort.signal }).catch(() => 'aborted')
    // A paused process wakes up late, so the time that was planned counts.
    if ((await Promise.race([caughtUp, late])) === 'late') this.#unansweredAt = until
    abort.abort()
  }

  /** The connection may have to be reopened first. */
  async #catchUpWithRetries(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#isClosed) {
      try {
        return await this.catchUp()
      } catch (error) {
        if (error instanceof Fault && !error.retryable) return
        await sleep(LIMITS.storeReconnectMs)
      }
    }
  }

  /** Resolves once the message of this number is applied. */
  untilApplied(seq: number): Promise<void> {
    if (seq <= this.#seq) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters = this.#waiters.filter((one) => one !== waiter)
        waiter.settle(lagging())
      }, LIMITS.storeTimeoutMs)
      const settle = (fault?: Fault) => {
        clearTimeout(timer)
        if (fault === undefined) resolve()
        else reject(fault)
      }
      const waiter = { seq, settle }
      this.#waiters.push(waiter)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#reader.disconnect()
    await this.#running
    for (const { settle } of this.#waiters.splice(0)) settle(lagging())
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#checkIdentity()
        if (!this.#isLoaded) await this.#load()
        while (!this.#isClosed && this.#isLoaded) await this.#read()
      } catch (error) {
        if (this.#isClosed || (error instanceof Fault && !error.retryable)) return
        // A connection that does not answer may be half-open.
        if (this.#reader.status === 'ready') this.#reader.disconnect(true)
        await sleep(LIMITS.storeFollowRetryMs)
      }
    }
  }

  async #read(): Promise<void> {
    const requestedAt = performance.now()
    const wait = isRecent(this.#currentAt, requestedAt) ? ['BLOCK', LIMITS.storePollMs] : []
    const bounds = ['COUNT', MESSAGES_AT_ONCE, ...wait, 'STREAMS'] as const
    // The answer is the stream's name and messages, or null if none arrived in time.
    const reply = (await this.#reader.callBuffer('XREAD', ...bounds, this.#key, this.#id)) as
      | readonly (readonly [Buffer, readonly Message[]])[]
      | null
    const messages = reply?.[0]?.[1]
    // Nothing has been written for a while, so there is time to check that this is still the same Redis.
    if (messages === undefined) await this.#checkIdentity()
    else this.#apply(messages)
    // A full answer may not be the last one.
    if (!this.#isLoaded || messages?.length === MESSAGES_AT_ONCE) return
    const now = performance.now()
    // See C3.
    this.#currentAt = Math.max(this.#currentAt, isRecent(requestedAt, now) ? now : requestedAt)
  }

  #apply(messages: readonly Message[]): void {
    for (const [idBytes, fields] of messages) {
      const id = idBytes.toString()
      const seq = seqOf(id)
      // See C1.
      if (seq !== this.#seq + 1) {
        this.#isLoaded = false
        return
      }
      this.#followed.apply(fields)
      this.#id = id
      this.#seq = seq
    }
    this.#settleWaiters()
  }

  async #load(): Promise<void> {
    const requestedAt = performance.now()
    const last = await this.#last()
    await this.#followed.load(this.#reader)
    this.#id = last.id
    this.#seq = last.seq
    this.#isLoaded = true
    this.#currentAt = requestedAt
    this.#settleWaiters()
  }

  /** Checks C2. */
  async #checkIdentity(): Promise<void> {
    const identity = await this.#reader.get(this.#link.key('identity'))
    if (identity !== this.#link.identity) throw this.#link.reportLoss('Redis is empty or another one')
    if (this.#id === START) return
    const isStored = (await this.#reader.xrange(this.#key, this.#id, this.#id)).length === 1
    if (isStored) return
    const [first] = await this.#reader.xrange(this.#key, '-', '+', 'COUNT', 1)
    const isTrimmed = first !== undefined && seqOf(first[0]) > this.#seq
    if (!isTrimmed) throw this.#link.reportLoss('Redis has lost data that this process has seen')
    this.#isLoaded = false
  }

  async #last(): Promise<{ readonly id: string; readonly seq: number }> {
    const [last] = await this.#reader.xrevrange(this.#key, '+', '-', 'COUNT', 1)
    return last === undefined ? { id: START, seq: 0 } : { id: last[0], seq: seqOf(last[0]) }
  }

  #settleWaiters(): void {
    const done = this.#waiters.filter(({ seq }) => seq <= this.#seq)
    if (done.length === 0) return
    this.#waiters = this.#waiters.filter(({ seq }) => seq > this.#seq)
    for (const { settle } of done) settle()
  }
}

function isRecent(at: number, now: number): boolean {
  return now - at < LIMITS.storeHeardMsMax
}

/** A message id has the form `<number>-<token of the writer>`. */
function seqOf(id: string): number {
  return Number(id.slice(0, id.indexOf('-')))
}

function lagging(): Fault {
  return new Fault('STORE_UNAVAILABLE', {
    retryable: true,
    message: 'Redis does not deliver the changes that processes wrote; retrying',
  })
}
