// Sends at most one notice per interval and subject (a device or a command). The last one of an interval is always sent, at
// the end of the interval.
import type { Clock } from '../../engine/ports/clock.ts'
import type { Schedule } from '../../engine/ports/schedule.ts'
import type { Budget } from './budget.ts'
import { type Notice, subjectOf, toLatest } from './notice.ts'
import { HELD_COST_BYTES } from './outbox.ts'
import type { Tally } from './tally.ts'

interface Turn {
  readonly dueAt: number
  waiting: Notice | undefined
}

export interface ThrottlePorts {
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'after'>
  readonly budget: Budget
  readonly tally: Tally
  readonly send: (notice: Notice) => void
  /** Called again for notices that have waited. */
  readonly maySee: (notice: Notice) => boolean
  readonly miss: () => void
  /** Called after a timer has sent notices. */
  readonly flush: () => void
}

/** Devices come due at different times. One timer handles all within this span. */
const SWEEP_SPAN_MS = 10

export class Throttle {
  readonly #intervalMs: number
  readonly #ports: ThrottlePorts
  /** Ordered by the time of the last send. All intervals are equal, so the first entry is due first. */
  readonly #turns = new Map<string, Turn>()
  #stopTimer: (() => void) | undefined

  constructor(intervalMs: number, ports: ThrottlePorts) {
    this.#intervalMs = intervalMs
    this.#ports = ports
  }

  take(notice: Notice): void {
    const now = this.#ports.clock.ticks()
    const turn = this.#turns.get(subjectIn(notice))
    if (turn === undefined || (turn.waiting === undefined && now >= turn.dueAt)) this.#start(notice, now)
    else this.#keep(turn, notice, now)
  }

  close(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    for (const turn of this.#turns.values()) this.#ports.budget.give(costOf(turn))
    this.#turns.clear()
  }

  #start(notice: Notice, now: number): void {
    const subject = subjectIn(notice)
    this.#drop(subject)
    this.#dropIdle(now)
    if (!this.#ports.budget.take(HELD_COST_BYTES)) {
      this.#ports.miss()
      return
    }
    this.#turns.set(subject, { dueAt: now + this.#intervalMs, waiting: undefined })
    this.#ports.send(notice)
  }

  #keep(turn: Turn, notice: Notice, now: number): void {
    const { budget } = this.#ports
    const latest = turn.waiting === undefined ? notice : toLatest(turn.waiting, notice)
    if (turn.waiting !== undefined) this.#ports.tally.throttled += 1
    budget.give(turn.waiting?.tail.length ?? 0)
    turn.waiting = budget.take(latest.tail.length) ? latest : undefined
    if (turn.waiting === undefined) this.#ports.miss()
    this.#arm(now)
  }

  #sweep(): void {
    this.#stopTimer = undefined
    const now = this.#ports.clock.ticks()
    for (const [subject, turn] of this.#turns) {
      if (turn.dueAt > now) break
      this.#drop(subject)
      if (turn.waiting !== undefined && this.#ports.maySee(turn.waiting)) this.#start(turn.waiting, now)
    }
    this.#ports.flush()
    if (this.#turns.size > 0) this.#arm(now)
  }

  #arm(now: number): void {
    if (this.#stopTimer !== undefined) return
    const [first] = this.#turns.values()
    if (first === undefined) return
    const waitMs = Math.max(first.dueAt - now, SWEEP_SPAN_MS)
    this.#stopTimer = this.#ports.schedule.after(waitMs, () => this.#sweep())
  }

  /** Removes expired turns, for which no timer is set. */
  #dropIdle(now: number): void {
    let looked = 0
    for (const [subject, turn] of this.#turns) {
      looked += 1
      if (looked > 2 || turn.dueAt > now || turn.waiting !== undefined) return
      this.#drop(subject)
    }
  }

  #drop(subject: string): void {
    const turn = this.#turns.get(subject)
    if (turn === undefined) return
    this.#turns.delete(subject)
    this.#ports.budget.give(costOf(turn))
  }
}

function costOf(turn: Turn): number {
  return HELD_COST_BYTES + (turn.waiting?.tail.length ?? 0)
}

/** There is no throttle on channels whose notices have no subject. */
function subjectIn(notice: Notice): string {
  return subjectOf(notice) ?? notice.deviceId ?? ''
}
