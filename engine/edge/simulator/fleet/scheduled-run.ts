// The entry of a device in the timer wheel. When the device is rescheduled, the old entry stays in the wheel and is
// ignored when it becomes due.
import type { Task } from './world.ts'

export interface RunOwner {
  run(scheduled: ScheduledRun, now: number): void
}

export class ScheduledRun implements Task {
  dueAt = 0
  readonly rank: number
  readonly #owner: RunOwner

  constructor(owner: RunOwner, rank: number) {
    this.#owner = owner
    this.rank = rank
  }

  run(now: number): void {
    this.#owner.run(this, now)
  }
}
