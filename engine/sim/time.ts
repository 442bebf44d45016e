// Simulated time: the only clock and the only timer of a simulated run. Nothing happens between two events but
// what their promises lead to, so a seed tells the same story every time.
import { Millis } from '../../schemas/ids.ts'
import type { Clock } from '../ports/clock.ts'
import type { Schedule } from '../runtime/schedule.ts'

interface Event {
  readonly at: number
  readonly order: number
  readonly run: () => void
  readonly life: Life
}

/** One process life: its timers die with it. */
interface Life {
  isOver: boolean
}

export class SimTime implements Clock {
  #now: number
  readonly #startedAt: number
  #order = 0
  #events: Event[] = []

  constructor(startsAt: Millis) {
    this.#now = startsAt
    this.#startedAt = startsAt
  }

  now(): Millis {
    return Millis(Math.floor(this.#now))
  }

  ticks(): number {
    return this.#now - this.#startedAt
  }

  /** Timers of one process. `end` is its sudden death. */
  newLife(): { readonly schedule: Schedule; readonly end: () => void } {
    const life: Life = { isOver: false }
    const after = (ms: number, run: () => void) => this.#add(ms, run, life)
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
        life.isOver = true
      },
    }
  }

  /** Runs what is due in the next `ms`, one event at a time, each with all that follows from it. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#now = Math.max(this.#now, next.at)
      if (!next.life.isOver) next.run()
      await settled()
    }
    this.#now = until
    await settled()
  }

  /** The wall clock jumps; what was due stays due after the same time. */
  jump(ms: number): void {
    this.#now += ms
    this.#events = this.#events.map((event) => ({ ...event, at: event.at + ms }))
  }

  #add(ms: number, run: () => void, life: Life): void {
    this.#events.push({ at: this.#now + ms, order: this.#order++, run, life })
  }

  #next(until: number): Event | undefined {
    let first: Event | undefined
    for (const event of this.#events)
      if (event.at <= until && (first === undefined || isBefore(event, first))) first = event
    if (first !== undefined)
      this.#events = this.#events.filter((event) => event !== first && !event.life.isOver)
    return first
  }
}

/** All promises that are ready have run: they are done before the next turn of the event loop. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
