// Sends at most one notice per interval and subject (a device or a command). The last one of an interval is always sent, at
// the end of the interval.
import type { Clock } from '../../engine/ports/clock.ts'
import type { Schedule } from '../../engine/ports/schedule.ts'
import type { Budget } from './budget.ts'
import { type Notice, subjectOf, toLatest } from './notice.ts'
import { HELD_COST_BYTES } from './outbox.ts'
import type { Tally } from './tally.ts'

interface ThrottledSubject {
  readonly dueAt: number
  pending: Notice | undefined
}

export interface ThrottlePorts {
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'after'>
  readonly budget: Budget
  readonly tally: Tally
  readonly send: (notice: Notice) => void
  /** Called again for notices that have waited. */
  readonly maySee: (notice: Notice) => boolean
  readonly countMissed: () => void
  /** Called after a timer has sent notices. */
  readonly flush: () => void
}

/** Devices come due at different times. One timer handles all within this span. */
const SWEEP_SPAN_MS = 10

export class Throttle {
  readonly #intervalMs: number
  readonly #ports: ThrottlePorts
  /** Ordered by the time of the last send. All intervals are equal, so the first entry is due first. */
  readonly #subjects = new Map<string, ThrottledSubject>()
  #stopTimer: (() => void) | undefined

  constructor(intervalMs: number, ports: ThrottlePorts) {
    this.#intervalMs = intervalMs
    this.#ports = ports
  }

  take(notice: Notice): void {
    const now = this.#ports.clock.ticks()
    const throttled = this.#subjects.get(requireSubject(notice))
    if (throttled === undefined || (throttled.pending === undefined && now >= throttled.dueAt))
      this.#start(notice, now)
    else this.#replacePending(throttled, notice, now)
  }

  close(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    for (const throttled of this.#subjects.values()) this.#ports.budget.release(costOf(throttled))
    this.#subjects.clear()
  }

  #start(notice: Notice, now: number): void {
    const subject = requireSubject(notice)
    this.#drop(subject)
    this.#dropIdle(now)
    if (!this.#ports.budget.take(HELD_COST_BYTES)) {
      this.#ports.countMissed()
      return
    }
    this.#subjects.set(subject, { dueAt: now + this.#intervalMs, pending: undefined })
    this.#ports.send(notice)
  }

  #replacePending(throttled: ThrottledSubject, notice: Notice, now: number): void {
    const { budget } = this.#ports
    const latest = throttled.pending === undefined ? notice : toLatest(throttled.pending, notice)
    if (throttled.pending !== undefined) this.#ports.tally.throttled += 1
    budget.release(throttled.pending?.tail.length ?? 0)
    throttled.pending = budget.take(latest.tail.length) ? latest : undefined
    if (throttled.pending === undefined) this.#ports.countMissed()
    this.#arm(now)
  }

  #sweep(): void {
    this.#stopTimer = undefined
    const now = this.#ports.clock.ticks()
    for (const [subject, throttled] of this.#subjects) {
      if (throttled.dueAt > now) break
      this.#drop(subject)
      if (throttled.pending !== undefined && this.#ports.maySee(throttled.pending))
        this.#start(throttled.pending, now)
    }
    this.#ports.flush()
    if (this.#subjects.size > 0) this.#arm(now)
  }

  #arm(now: number): void {
    if (this.#stopTimer !== undefined) return
    const [first] = this.#subjects.values()
    if (first === undefined) return
    const waitMs = Math.max(first.dueAt - now, SWEEP_SPAN_MS)
    this.#stopTimer = this.#ports.schedule.after(waitMs, () => this.#sweep())
  }

  /** Removes subjects whose interval has passed, for which no timer is set. */
  #dropIdle(now: number): void {
    let checked = 0
    for (const [subject, throttled] of this.#subjects) {
      checked += 1
      if (checked > 2 || throttled.dueAt > now || throttled.pending !== undefined) return
      this.#drop(subject)
    }
  }

  #drop(subject: string): void {
    const throttled = this.#subjects.get(subject)
    if (throttled === undefined) return
    this.#subjects.delete(subject)
    this.#ports.budget.release(costOf(throttled))
  }
}

function costOf(throttled: ThrottledSubject): number {
  return HELD_COST_BYTES + (throttled.pending?.tail.length ?? 0)
}

/** There is no throttle on channels whose notices have no subject. */
function requireSubject(notice: Notice): string {
  return subjectOf(notice) ?? notice.deviceId ?? ''
}
