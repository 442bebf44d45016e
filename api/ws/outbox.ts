// The outgoing frames of one socket. A client that keeps up gets every event at once. A slow one gets the latest value of
// each device or command when it has room again, and is told how many events it missed.
// - Nothing is sent while the wire is full, so the memory of a socket is bounded by the wire's limit plus the held notices.
// - At most one notice is held per subscription and subject. Beyond the budget, missed notices are only counted. Notices
//   without a subject are held up to a limit, beyond which the oldest are dropped.
// O3. The count of missed notices is sent once, after the latest values.

import type { Schedule } from '../../engine/ports/schedule.ts'
import type { Budget } from './budget.ts'
import { type Notice, subjectOf, toLatest } from './notice.ts'
import type { Tally } from './tally.ts'
import type { Wire } from './wire.ts'

/** A subscription. It numbers its events, and puts its id into their frames. */
export interface Recipient {
  readonly id: string
  /** The frame of the next event. */
  frameOf(notice: Notice): string
  /** False once the device is no longer visible to the user. Notices held for it are then dropped. */
  maySee(notice: Notice): boolean
}

interface Backlog {
  /** Keyed by subject. A notice without a subject is its own key. */
  readonly held: Map<string | Notice, Notice>
  dropped: number
}

export interface OutboxPorts {
  readonly wire: Wire
  readonly budget: Budget
  readonly schedule: Pick<Schedule, 'after'>
  readonly tally: Tally
  readonly limits: { readonly socketFrozenMs: number; readonly heldEntriesMax: number }
  /** Called if the client took nothing for too long, or requested more answers than may wait. */
  readonly onFrozen: () => void
}

/** Bytes charged for a held notice in addition to its text. */
export const HELD_COST_BYTES = 128
/** Fractions of its limit at which a wire counts as full, and at which it accepts frames again. */
const FULL = 1
const LOW_WATER = 0.5

export class Outbox {
  readonly #ports: OutboxPorts
  #queue: { readonly recipient: Recipient; readonly notice: Notice }[] = []
  #answers: string[] = []
  readonly #backlogs = new Map<Recipient, Backlog>()
  #slow = false
  #closed = false
  #stopWatch: (() => void) | undefined

  constructor(ports: OutboxPorts) {
    this.#ports = ports
  }

  /** Sends an answer. Answers keep their order and are never dropped. */
  answer(frame: string): void {
    if (this.#closed) return
    this.flush()
    if (!this.#isFull()) this.#send(frame)
    else if (this.#ports.budget.take(frame.length + HELD_COST_BYTES)) this.#answers.push(frame)
    else this.#ports.onFrozen()
  }

  hasRoom(): boolean {
    return !this.#closed && !this.#isFull()
  }

  /** Sends a frame that its owner can create again. Returns false if the client has no room for it now. */
  offer(frame: string): boolean {
    if (!this.hasRoom()) return false
    this.#send(frame)
    return true
  }

  /** Adds a notice, which is sent by the next flush. */
  push(recipient: Recipient, notice: Notice): void {
    if (!this.#closed) this.#queue.push({ recipient, notice })
  }

  /** Counts an event of this subscription that is left out. The client will be told the number. */
  countMissed(recipient: Recipient): void {
    if (this.#closed) return
    this.#ports.tally.dropped += 1
    this.#backlogOf(recipient).dropped += 1
  }

  flush(): void {
    if (this.#closed || (this.#queue.length === 0 && (this.#slow || this.#backlogs.size === 0))) return
    const queue = this.#queue
    this.#queue = []
    this.#ports.wire.cork(() => {
      for (const { recipient, notice } of queue) {
        if (this.#isFull()) this.#hold(recipient, notice)
        else this.#send(recipient.frameOf(notice))
      }
      if (!this.#slow) this.#catchUp()
    })
  }

  /** Called when the client has taken bytes. */
  resume(): void {
    if (!this.#slow || this.#closed || this.#ports.wire.pressure() > LOW_WATER) return
    this.#ports.wire.cork(() => {
      if (this.#sendAnswers() && this.#catchUp()) this.#setSlow(false)
    })
  }

  remove(recipient: Recipient): void {
    this.#queue = this.#queue.filter((item) => item.recipient !== recipient)
    for (const notice of this.#backlogs.get(recipient)?.held.values() ?? []) this.#release(notice)
    this.#backlogs.delete(recipient)
  }

  close(): void {
    this.#closed = true
    for (const recipient of [...this.#backlogs.keys()]) this.remove(recipient)
    for (const frame of this.#answers) this.#ports.budget.release(frame.length + HELD_COST_BYTES)
    this.#answers = []
    this.#queue = []
    this.#setSlow(false)
  }

  #isFull(): boolean {
    if (!this.#slow && this.#ports.wire.pressure() > FULL) this.#setSlow(true)
    return this.#slow
  }

  #send(frame: string): void {
    this.#ports.tally.sent += 1
    this.#ports.wire.send(frame)
  }

  #hold(recipient: Recipient, notice: Notice): void {
    const backlog = this.#backlogOf(recipient)
    const subject = subjectOf(notice)
    if (subject === undefined) {
      this.#append(backlog, notice)
      return
    }
    const held = backlog.held.get(subject)
    const latest = held === undefined ? notice : toLatest(held, notice)
    if (held !== undefined) {
      backlog.held.delete(subject)
      backlog.dropped += 1
      this.#release(held)
    }
    if (this.#ports.budget.take(costOf(latest))) {
      backlog.held.set(subject, latest)
      if (held !== undefined) this.#ports.tally.conflated += 1
    } else {
      backlog.dropped += 1
      this.#ports.tally.dropped += 1
    }
  }

  /** Appends a notice, and drops the oldest ones if there are too many. */
  #append(backlog: Backlog, notice: Notice): void {
    const { budget, tally, limits } = this.#ports
    const take = () => backlog.held.size < limits.heldEntriesMax && budget.take(costOf(notice))
    let isTaken = take()
    for (const oldest of backlog.held.values()) {
      if (isTaken) break
      backlog.held.delete(oldest)
      this.#release(oldest)
      backlog.dropped += 1
      tally.dropped += 1
      isTaken = take()
    }
    if (isTaken) backlog.held.set(notice, notice)
    else {
      backlog.dropped += 1
      tally.dropped += 1
    }
  }

  #sendAnswers(): boolean {
    while (this.#answers.length > 0) {
      if (this.#ports.wire.pressure() > FULL) return false
      const frame = this.#answers.shift() ?? ''
      this.#ports.budget.release(frame.length + HELD_COST_BYTES)
      this.#send(frame)
    }
    return true
  }

  /** Sends held notices, then the count of missed ones (O3). Returns false if the wire fills up before the end. */
  #catchUp(): boolean {
    for (const [recipient, backlog] of this.#backlogs) {
      for (const [subject, notice] of backlog.held) {
        if (this.#ports.wire.pressure() > FULL) return false
        backlog.held.delete(subject)
        this.#release(notice)
        if (recipient.maySee(notice)) this.#send(recipient.frameOf(notice))
      }
      this.#backlogs.delete(recipient)
      const { dropped } = backlog
      if (dropped > 0) this.#send(JSON.stringify({ type: 'resync', id: recipient.id, dropped }))
    }
    return true
  }

  #release(notice: Notice): void {
    this.#ports.budget.release(costOf(notice))
  }

  #backlogOf(recipient: Recipient): Backlog {
    const known = this.#backlogs.get(recipient)
    if (known !== undefined) return known
    const fresh: Backlog = { held: new Map(), dropped: 0 }
    this.#backlogs.set(recipient, fresh)
    return fresh
  }

  #setSlow(slow: boolean): void {
    this.#slow = slow
    this.#stopWatch?.()
    this.#stopWatch = undefined
    if (slow) this.#watch(this.#ports.wire.deliveredBytes())
  }

  #watch(delivered: number): void {
    this.#stopWatch = this.#ports.schedule.after(this.#ports.limits.socketFrozenMs, () => {
      const now = this.#ports.wire.deliveredBytes()
      if (now === delivered) this.#ports.onFrozen()
      else this.#watch(now)
    })
  }
}

function costOf(notice: Notice): number {
  return notice.tail.length + HELD_COST_BYTES
}
