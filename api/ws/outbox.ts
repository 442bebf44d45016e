// What leaves one socket. A client that keeps up gets every event at once; a slow one gets the latest value of
// each device, or command, when it has room again, and is told how much it missed.
// O1. Nothing is sent while the wire is full, so the memory of a socket is the wire's bound plus what is held.
// O2. Of a subscription and a subject at most one notice is held. Beyond the budget only the count grows; notices
//     that stand for themselves make room for later ones, up to a number.
// O3. What was missed is told once, after the latest values.

import type { Schedule } from '../../engine/ports/schedule.ts'
import type { Budget } from './budget.ts'
import { type Notice, subjectOf, toLatest } from './notice.ts'
import type { Tally } from './tally.ts'
import type { Wire } from './wire.ts'

/** Whoever numbers and names its events: a subscription. */
export interface Addressee {
  readonly id: string
  /** The frame of its next event. */
  frameOf(notice: Notice): string
}

interface Behind {
  /** By subject, or by itself. */
  readonly held: Map<string | Notice, Notice>
  dropped: number
}

export interface OutboxDeps {
  readonly wire: Wire
  readonly budget: Budget
  readonly schedule: Pick<Schedule, 'after'>
  readonly tally: Tally
  readonly limits: { readonly socketFrozenMs: number; readonly heldEntriesMax: number }
  /** The client took nothing for too long, or asked for more answers than can wait. */
  readonly onFrozen: () => void
}

/** What a held notice costs beside its text. */
export const HELD_COST_BYTES = 128
/** Above this share of its bound a wire is full; below the other one it takes frames again. */
const FULL = 1
const ROOMY = 0.5

export class Outbox {
  readonly #deps: OutboxDeps
  #queue: { readonly to: Addressee; readonly notice: Notice }[] = []
  #answers: string[] = []
  readonly #behind = new Map<Addressee, Behind>()
  #slow = false
  #closed = false
  #stopWatch: (() => void) | undefined

  constructor(deps: OutboxDeps) {
    this.#deps = deps
  }

  /** Answers keep their order and are never left out. */
  answer(frame: string): void {
    if (this.#closed) return
    this.flush()
    if (!this.#isFull()) this.#send(frame)
    else if (this.#deps.budget.take(frame.length + HELD_COST_BYTES)) this.#answers.push(frame)
    else this.#deps.onFrozen()
  }

  /** Sent by the next flush. */
  push(to: Addressee, notice: Notice): void {
    if (!this.#closed) this.#queue.push({ to, notice })
  }

  /** An event of this subscription is left out; the client will be told. */
  miss(to: Addressee): void {
    if (this.#closed) return
    this.#deps.tally.dropped += 1
    this.#behindOf(to).dropped += 1
  }

  flush(): void {
    if (this.#closed || (this.#queue.length === 0 && (this.#slow || this.#behind.size === 0))) return
    const queue = this.#queue
    this.#queue = []
    this.#deps.wire.cork(() => {
      for (const { to, notice } of queue) {
        if (this.#isFull()) this.#hold(to, notice)
        else this.#send(to.frameOf(notice))
      }
      if (!this.#slow) this.#catchUp()
    })
  }

  /** The wire has moved. */
  resume(): void {
    if (!this.#slow || this.#closed || this.#deps.wire.pressure() > ROOMY) return
    this.#deps.wire.cork(() => {
      if (this.#sendAnswers() && this.#catchUp()) this.#setSlow(false)
    })
  }

  forget(to: Addressee): void {
    this.#queue = this.#queue.filter((item) => item.to !== to)
    for (const notice of this.#behind.get(to)?.held.values() ?? []) this.#release(notice)
    this.#behind.delete(to)
  }

  close(): void {
    this.#closed = true
    for (const to of [...this.#behind.keys()]) this.forget(to)
    for (const frame of this.#answers) this.#deps.budget.give(frame.length + HELD_COST_BYTES)
    this.#answers = []
    this.#queue = []
    this.#setSlow(false)
  }

  #isFull(): boolean {
    if (!this.#slow && this.#deps.wire.pressure() > FULL) this.#setSlow(true)
    return this.#slow
  }

  #send(frame: string): void {
    this.#deps.tally.sent += 1
    this.#deps.wire.send(frame)
  }

  #hold(to: Addressee, notice: Notice): void {
    const behind = this.#behindOf(to)
    const subject = subjectOf(notice)
    if (subject === undefined) {
      this.#append(behind, notice)
      return
    }
    const held = behind.held.get(subject)
    const latest = held === undefined ? notice : toLatest(held, notice)
    if (held !== undefined) {
      behind.held.delete(subject)
      behind.dropped += 1
      this.#release(held)
    }
    if (this.#deps.budget.take(costOf(latest))) {
      behind.held.set(subject, latest)
      if (held !== undefined) this.#deps.tally.conflated += 1
    } else {
      behind.dropped += 1
      this.#deps.tally.dropped += 1
    }
  }

  /** The oldest make room. */
  #append(behind: Behind, notice: Notice): void {
    const { budget, tally, limits } = this.#deps
    const take = () => behind.held.size < limits.heldEntriesMax && budget.take(costOf(notice))
    let isTaken = take()
    for (const oldest of behind.held.values()) {
      if (isTaken) break
      behind.held.delete(oldest)
      this.#release(oldest)
      behind.dropped += 1
      tally.dropped += 1
      isTaken = take()
    }
    if (isTaken) behind.held.set(notice, notice)
    else {
      behind.dropped += 1
      tally.dropped += 1
    }
  }

  #sendAnswers(): boolean {
    while (this.#answers.length > 0) {
      if (this.#deps.wire.pressure() > FULL) return false
      const frame = this.#answers.shift() ?? ''
      this.#deps.budget.give(frame.length + HELD_COST_BYTES)
      this.#send(frame)
    }
    return true
  }

  /** Sends what is held, then what was missed (O3). False if the wire is full before the end. */
  #catchUp(): boolean {
    for (const [to, behind] of this.#behind) {
      for (const [subject, notice] of behind.held) {
        if (this.#deps.wire.pressure() > FULL) return false
        behind.held.delete(subject)
        this.#release(notice)
        this.#send(to.frameOf(notice))
      }
      this.#behind.delete(to)
      const { dropped } = behind
      if (dropped > 0) this.#send(JSON.stringify({ type: 'resync', id: to.id, dropped }))
    }
    return true
  }

  #release(notice: Notice): void {
    this.#deps.budget.give(costOf(notice))
  }

  #behindOf(to: Addressee): Behind {
    const known = this.#behind.get(to)
    if (known !== undefined) return known
    const fresh: Behind = { held: new Map(), dropped: 0 }
    this.#behind.set(to, fresh)
    return fresh
  }

  #setSlow(slow: boolean): void {
    this.#slow = slow
    this.#stopWatch?.()
    this.#stopWatch = undefined
    if (slow) this.#watch(this.#deps.wire.deliveredBytes())
  }

  #watch(delivered: number): void {
    this.#stopWatch = this.#deps.schedule.after(this.#deps.limits.socketFrozenMs, () => {
      const now = this.#deps.wire.deliveredBytes()
      if (now === delivered) this.#deps.onFrozen()
      else this.#watch(now)
    })
  }
}

function costOf(notice: Notice): number {
  return notice.tail.length + HELD_COST_BYTES
}
