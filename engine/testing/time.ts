// Simulated time: the only clock and the only timer of a simulated run. Between two events nothing happens but what
// their promises lead to, so a seed gives the same run every time.
import { Millis } from '../../schemas/ids.ts'
import type { Clock } from '../ports/clock.ts'
import type { Schedule } from '../ports/schedule.ts'

interface Event {
  readonly at: number
  readonly order: number
  readonly run: () => void
  readonly incarnation: Incarnation
}

/** The incarnation of a process. Its timers die with it. */
interface Incarnation {
  isOver: boolean
}

export class SimTime implements Clock {
  readonly #startsAt: number
  /** Time that passed in `advance`, when events could happen. */
  #passed = 0
  /** Time that passed in `jump`, while processes stood still. */
  #stood = 0
  /** The change of the wall clock in `set`. */
  #set = 0
  #setMax = 0
  #order = 0
  /** A heap, with the next event first. */
  readonly #events: Event[] = []

  constructor(startsAt: Millis) {
    this.#startsAt = startsAt
  }

  now(): Millis {
    return Millis(Math.floor(this.#startsAt + this.#passed + this.#stood + this.#set))
  }

  ticks(): number {
    return this.#passed + this.#stood
  }

  /** Returns the timers of one process. `end` is its sudden death. */
  newIncarnation(): { readonly schedule: Schedule; readonly end: () => void } {
    const incarnation: Incarnation = { isOver: false }
    const after = (ms: number, run: () => void) => {
      const timer: Incarnation = { isOver: false }
      const runUnlessOver = () => {
        if (!timer.isOver) run()
      }
      this.#add({ at: this.#passed + ms, order: this.#order++, run: runUnlessOver, incarnation })
      return () => {
        timer.isOver = true
      }
    }
    const schedule: Schedule = {
      after,
      sleep: (ms) => new Promise((resolve) => after(ms, resolve)),
      every: (ms, run) => {
        const timer = { isOver: false }
        const next = () => {
          if (timer.isOver) return
          run()
          after(ms, next)
        }
        after(ms, next)
        return () => {
          timer.isOver = true
        }
      },
    }
    return {
      schedule,
      end: () => {
        incarnation.isOver = true
      },
    }
  }

  /** Runs the events of the next `ms`, one at a time, each with everything that follows from it. */
  async advance(ms: number): Promise<void> {
    const until = this.#passed + ms
    await settled()
    for (let next = this.#takeDue(until); next !== undefined; next = this.#takeDue(until)) {
      if (next.incarnation.isOver) continue
      this.#passed = Math.max(this.#passed, next.at)
      next.run()
      await settled()
    }
    this.#passed = until
    await settled()
  }

  /** Lets time pass without events. Those that were due stay due after the same time. */
  jump(ms: number): void {
    this.#stood += ms
  }

  /** Sets the wall clock forwards or backwards. The passing of time is not affected. */
  set(ms: number): void {
    this.#set += ms
    this.#setMax = Math.max(this.#setMax, this.#set)
  }

  /** What the wall clock would show if it had stayed as far ahead as it ever was. No time that was shown is later. */
  latest(): Millis {
    return Millis(this.now() - this.#set + this.#setMax)
  }

  /** Sets the wall clock so that it is not behind any time it has shown. */
  setRight(): void {
    this.#set = this.#setMax
  }

  #add(event: Event): void {
    const events = this.#events
    let at = events.push(event) - 1
    for (let up = (at - 1) >> 1; at > 0 && isBefore(event, events[up]); up = (at - 1) >> 1) {
      this.#swap(at, up)
      at = up
    }
  }

  #takeDue(until: number): Event | undefined {
    const events = this.#events
    const [first] = events
    if (first === undefined || first.at > until) return undefined
    this.#swap(0, events.length - 1)
    events.pop()
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      const least = isBefore(events[left + 1], events[left]) ? left + 1 : left
      if (!isBefore(events[least], events[at])) return first
      this.#swap(at, least)
      at = least
    }
  }

  #swap(a: number, b: number): void {
    const events = this.#events
    const [one, other] = [events[a], events[b]]
    if (one === undefined || other === undefined) return
    events[a] = other
    events[b] = one
  }
}

/** Resolves once all promises that are ready have run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function isBefore(a: Event | undefined, b: Event | undefined): boolean {
  if (a === undefined || b === undefined) return false
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
