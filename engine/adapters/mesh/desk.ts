// The answering side of a node, whatever carries the questions: how many are taken at once, and what becomes of each.
import { unreachable } from '../../domain/unreachable.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'

export type Outcome = { readonly kind: 'answered'; readonly answer: Uint8Array } | Unanswered

type Unanswered =
  | { readonly kind: 'failed'; readonly message: string }
  /** Not begun. */
  | { readonly kind: 'closing' }
  | { readonly kind: 'busy' }

type Answer = (question: Uint8Array) => Promise<Uint8Array>

export class Desk {
  readonly #failed: (error: unknown) => void
  readonly #underWay = new Set<Promise<void>>()
  #bytes = 0
  #answer: Answer | undefined
  #isClosing = false

  /** `failed`: this node could not answer, which is a mistake of its own. */
  constructor(failed: (error: unknown) => void = () => {}) {
    this.#failed = failed
  }

  open(answer: Answer): void {
    this.#answer = answer
  }

  /** `reply` is called once, at once if the question is not taken. */
  take(question: Uint8Array, reply: (outcome: Outcome) => void): void {
    const answerTo = this.#isClosing ? undefined : this.#answer
    if (answerTo === undefined) reply({ kind: 'closing' })
    else if (!this.#hasRoomFor(question)) reply({ kind: 'busy' })
    else this.#begin(this.#outcomeOf(answerTo, question).then(reply), question)
  }

  #hasRoomFor({ length }: Uint8Array): boolean {
    const { meshQuestionsMax, meshQuestionsBytesMax } = LIMITS
    return this.#underWay.size < meshQuestionsMax && this.#bytes + length <= meshQuestionsBytesMax
  }

  #begin(answered: Promise<void>, { length }: Uint8Array): void {
    this.#bytes += length
    const answering = answered.finally(() => {
      this.#underWay.delete(answering)
      this.#bytes -= length
    })
    this.#underWay.add(answering)
  }

  async #outcomeOf(answerTo: Answer, question: Uint8Array): Promise<Outcome> {
    try {
      const answer = await answerTo(question)
      if (answer.length <= LIMITS.meshAnswerBytesMax) return { kind: 'answered', answer }
      return { kind: 'failed', message: `its answer of ${answer.length} bytes is too large: ask for less` }
    } catch (error) {
      this.#failed(error)
      return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
    }
  }

  /** Takes no more; resolves once those under way are answered, or after a while. */
  async close(): Promise<void> {
    this.#isClosing = true
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LIMITS.meshStopTimeoutMs)
    })
    await Promise.race([Promise.all(this.#underWay), late])
    clearTimeout(timer)
  }
}

/** What the asker is told instead of an answer. */
export function faultOf(address: string, outcome: Unanswered): Fault {
  switch (outcome.kind) {
    case 'failed':
      return new Fault('NODE_FAILED', { retryable: false, message: `node ${address}: ${outcome.message}` })
    case 'closing':
      return notReached(address, 'is closing')
    case 'busy':
      return new Fault('OVERLOADED', {
        retryable: true,
        message: `node ${address} answers too many questions already`,
      })
    default:
      return unreachable(outcome)
  }
}

export function notReached(address: string, why: string): Fault {
  return new Fault('NODE_UNREACHABLE', { retryable: true, message: `node ${address} ${why}` })
}

/** Asked before anything is sent. */
export function questionFault({ length }: Uint8Array): Fault | undefined {
  if (length <= LIMITS.meshMessageBytesMax) return undefined
  return new Fault('NODE_FAILED', {
    retryable: false,
    message: `a question of ${length} bytes is too large for a node: send less at once`,
  })
}

export function checkNews({ length }: Uint8Array): void {
  if (length > LIMITS.meshMessageBytesMax) throw new RangeError(`news of ${length} bytes are too large`)
}
