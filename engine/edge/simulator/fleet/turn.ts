// The place of a device in the wheel. A device that takes another turn leaves this one behind, where it comes to nothing.
import type { Task } from './world.ts'

export interface TurnTaker {
  run(turn: Turn, now: number): void
}

export class Turn implements Task {
  dueAt = 0
  readonly rank: number
  readonly #owner: TurnTaker

  constructor(owner: TurnTaker, rank: number) {
    this.#owner = owner
    this.rank = rank
  }

  run(now: number): void {
    this.#owner.run(this, now)
  }
}
