// Answers the questions of other nodes, whatever transport carries them, and bounds how many are answered at once.
import { errorText } from '../../../schemas/error-text.ts'
import { unreachable } from '../../domain/unreachable.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'

export type Outcome = { readonly kind: 'answered'; readonly answer: Uint8Array } | AnswerFailure

type AnswerFailure =
  | { readonly kind: 'failed'; readonly message: string }
  /** The question was not started, because this node is not serving. */
  | { readonly kind: 'absent' }
  /** The question was abandoned, because the node closed. */
  | { readonly kind: 'closing' }
  /** The question was not started, because too many others are. */
  | { readonly kind: 'busy' }

type Answer = (question: Uint8Array) => Promise<Uint8Array>

interface PendingQuestion {
  readonly bytes: number
  reply(outcome: Outcome): void
}

export class Responder {
  readonly #onFailure: (error: unknown) => void
  readonly #pending = new Set<PendingQuestion>()
  #bytes = 0
  #answer: Answer | undefined
  #isClosing = false
  #onIdle = () => {}

  /** `failed` is called when answering throws, which is a bug of this node. */
  constructor(failed: (error: unknown) => void = () => {}) {
    this.#onFailure = failed
  }

  serve(answer: Answer): void {
    this.#answer = answer
  }

  /** Calls `reply` exactly once. It does so immediately if the question is not accepted. */
  handle(question: Uint8Array, reply: (outcome: Outcome) => void): void {
    const answerTo = this.#isClosing ? undefined : this.#answer
    if (answerTo === undefined) reply({ kind: 'absent' })
    else if (!this.#hasRoomFor(question)) reply({ kind: 'busy' })
    else {
      const pending = { bytes: question.length, reply }
      this.#pending.add(pending)
      this.#bytes += pending.bytes
      void this.#outcomeOf(answerTo, question).then((outcome) => this.#finish(pending, outcome))
    }
  }

  /** Accepts no more questions. Resolves once those in progress are answered or, after a timeout, abandoned. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#pending.size === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LIMITS.meshStopTimeoutMs)
      this.#onIdle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    for (const one of this.#pending) this.#finish(one, { kind: 'closing' })
  }

  #hasRoomFor({ length }: Uint8Array): boolean {
    const { meshQuestionsMax, meshQuestionsBytesMax } = LIMITS
    return this.#pending.size < meshQuestionsMax && this.#bytes + length <= meshQuestionsBytesMax
  }

  #finish(pending: PendingQuestion, outcome: Outcome): void {
    // The question was already abandoned.
    if (!this.#pending.delete(pending)) return
    this.#bytes -= pending.bytes
    pending.reply(outcome)
    if (this.#pending.size === 0) this.#onIdle()
  }

  async #outcomeOf(answerTo: Answer, question: Uint8Array): Promise<Outcome> {
    try {
      const answer = await answerTo(question)
      if (answer.length <= LIMITS.meshAnswerBytesMax) return { kind: 'answered', answer }
      return { kind: 'failed', message: `the answer of ${answer.length} bytes is too large; ask for less` }
    } catch (error) {
      this.#onFailure(error)
      return { kind: 'failed', message: errorText(error) }
    }
  }
}

/** The fault that an asker gets instead of an answer. */
export function faultOf(address: string, outcome: AnswerFailure): Fault {
  switch (outcome.kind) {
    case 'failed':
      return new Fault('NODE_FAILED', { retryable: false, message: `node ${address}: ${outcome.message}` })
    case 'absent':
      return absentFault(address)
    case 'closing':
      return unreachableFault(address, 'is closing')
    case 'busy':
      return new Fault('OVERLOADED', {
        retryable: true,
        message: `node ${address} is answering too many questions; try again`,
      })
    default:
      return unreachable(outcome)
  }
}

export function absentFault(address: string): Fault {
  return new Fault('NODE_ABSENT', { retryable: true, message: `node ${address} is not running` })
}

export function unreachableFault(address: string, reason: string): Fault {
  return new Fault('NODE_UNREACHABLE', { retryable: true, message: `node ${address} ${reason}` })
}

/** Checks the size of a question before it is sent. */
export function questionFault({ length }: Uint8Array): Fault | undefined {
  if (length <= LIMITS.meshMessageBytesMax) return undefined
  return new Fault('NODE_FAILED', {
    retryable: false,
    message: `a question of ${length} bytes is too large for another node; send less at once`,
  })
}

export function checkMessage({ length }: Uint8Array): void {
  if (length > LIMITS.meshMessageBytesMax) throw new RangeError(`a message of ${length} bytes is too large`)
}
