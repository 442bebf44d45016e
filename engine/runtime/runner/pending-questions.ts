// Questions to a shard. Each is held back until everything acknowledged before it is applied (read-your-writes). Questions
// of one turn of the event loop go together, because a hop to the thread costs as much as several questions do (R12).
import type { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Positions } from '../../ports/log.ts'
import type { Answer, AnswerOf, Ask, Position } from '../shard/protocol.ts'

interface PendingQuestion {
  readonly ask: Ask
  readonly after: readonly Position[]
  /** The partitions the question is about. Undefined: all that the shard has when it answers. */
  readonly about: readonly Partition[] | undefined
  readonly until: number
  /** How many shards were lost while they had this question. */
  losses: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (fault: Fault) => void
}

const WAIT_MS = 5_000
const LOSSES_MAX = 3

export class PendingQuestions {
  /** Questions of this turn of the event loop. More may follow in the same turn. */
  #newThisTurn: PendingQuestion[] = []
  #waiting: PendingQuestion[] = []
  readonly #ticks: () => number
  readonly #later: (run: () => void) => void
  readonly #ready: () => void

  constructor(options: {
    readonly ticks: () => number
    /** Runs the function at the end of the turn. */
    readonly later: (run: () => void) => void
    readonly ready: () => void
  }) {
    this.#ticks = options.ticks
    this.#later = options.later
    this.#ready = options.ready
  }

  add<A extends Ask>(ask: A, after: readonly Position[], about?: readonly Partition[]): Promise<AnswerOf<A>> {
    if (this.#waiting.length + this.#newThisTurn.length >= LIMITS.asksWaitingMax)
      return Promise.reject(
        new Fault('OVERLOADED', { retryable: true, message: 'too many questions are waiting' }),
      )
    return new Promise((resolve, reject) => {
      // Each kind of question gets its own kind of answer.
      const settle = resolve as (answer: Answer) => void
      const until = this.#ticks() + WAIT_MS
      this.#newThisTurn.push({ ask, after, about, until, losses: 0, resolve: settle, reject })
      if (this.#newThisTurn.length === 1) this.#later(() => this.#gather())
    })
  }

  #gather(): void {
    for (const waiting of this.#newThisTurn) this.#waiting.push(waiting)
    this.#newThisTurn = []
    this.#ready()
  }

  /** Takes the questions whose positions are applied and about whose partitions the shard may answer. */
  take(
    applied: Positions,
    mayAnswer: (about: readonly Partition[] | undefined) => boolean,
  ): readonly PendingQuestion[] {
    if (this.#waiting.length === 0) return []
    const ready: PendingQuestion[] = []
    const rest: PendingQuestion[] = []
    for (const waiting of this.#waiting) {
      const isReady =
        ready.length < LIMITS.asksPerBatchMax &&
        mayAnswer(waiting.about) &&
        waiting.after.every(({ partition, seq }) => (applied[partition] ?? 0) >= seq)
      if (isReady) ready.push(waiting)
      else rest.push(waiting)
    }
    this.#waiting = rest
    return ready
  }

  /** Puts questions of a lost shard back, or rejects those with which too many shards were lost. */
  putBack(asked: readonly PendingQuestion[]): void {
    const again = asked.filter((waiting) => ++waiting.losses < LOSSES_MAX)
    const fault = new Fault('SHARD_LOST', { retryable: true, message: 'the shard was lost' })
    for (const waiting of asked) if (waiting.losses >= LOSSES_MAX) waiting.reject(fault)
    this.#waiting.unshift(...again)
  }

  expire(): void {
    const now = this.#ticks()
    const isOver = (waiting: PendingQuestion) => waiting.until <= now
    for (const waiting of this.#waiting.filter(isOver))
      waiting.reject(new Fault('OVERLOADED', { retryable: true, message: 'the device is behind its log' }))
    this.#waiting = this.#waiting.filter((waiting) => !isOver(waiting))
  }

  fail(fault: Fault): void {
    for (const waiting of [...this.#waiting, ...this.#newThisTurn]) waiting.reject(fault)
    this.#waiting = []
    this.#newThisTurn = []
  }
}
