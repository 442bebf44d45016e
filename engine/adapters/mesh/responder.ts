// Answers the questions of other nodes, whatever transport carries them, and bounds how many are answered at once.
import { errorText } from '../../../schemas/error-text.ts'
import { unreachable } from '../../domain/unreachable.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'

export type Outcome = { readonly kind: 'answered'; readonly answer: Uint8Array } | NoAnswer

type NoAnswer =
  | { readonly kind: 'failed'; readonly message: string }
  /** The question was not started, because this node is not serving. */
  | { readonly kind: 'absent' }
  /** The question was abandoned, because the node closed. */
  | { readonly kind: 'closing' }
  /** The question was not started, because too many others are. */
  | { readonly kind: 'busy' }

type Answer = (question: Uint8Array) => Promise<Uint8Array>

interface UnderWay {
  readonly bytes: number
  reply(outcome: Outcome): void
}

export class Responder {
  readonly #failed: (error: unknown) => void
  readonly #underWay = new Set<UnderWay>()
  #bytes = 0
  #answer: Answer | undefined
  #isClosing = false
  #idle = () => {}

  /** `failed` is called when answering throws, which is a bug of this node. */
  constructor(failed: (error: unknown) => void = () => {}) {
    this.#failed = failed
  }

  open(answer: Answer): void {
    this.#answer = answer
  }

  /** Calls `reply` exactly once. It does so immediately if the question is not accepted. */
  take(question: Uint8Array, reply: (outcome: Outcome) => void): void {
    const answerTo = this.#isClosing ? undefined : this.#answer
    if (answerTo === undefined) reply({ kind: 'absent' })
    else if (!this.#hasRoomFor(question)) reply({ kind: 'busy' })
    else {
      const one = { bytes: question.length, reply }
      this.#underWay.add(one)
      this.#bytes += one.bytes
      void this.#outcomeOf(answerTo, question).then((outcome) => this.#end(one, outcome))
    }
  }

  /** Accepts no more questions. Resolves once those in progress are answered or, after a timeout, abandoned. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#underWay.size === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LIMITS.meshStopTimeoutMs)
      this.#idle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    for (const one of this.#underWay) this.#end(one, { kind: 'closing' })
  }

  #hasRoomFor({ length }: Uint8Array): boolean {
    const { meshQuestionsMax, meshQuestionsBytesMax } = LIMITS
    return this.#underWay.size < meshQuestionsMax && this.#bytes + length <= meshQuestionsBytesMax
  }

  #end(one: UnderWay, outcome: Outcome): void {
    // The question was already abandoned.
    if (!this.#underWay.delete(one)) return
    this.#bytes -= one.bytes
    one.reply(outcome)
    if (this.#underWay.size === 0) this.#idle()
  }

  async #outcomeOf(answerTo: Answer, question: Uint8Array): Promise<Outcome> {
    try {
      const answer = await answerTo(question)
      if (answer.length <= LIMITS.meshAnswerBytesMax) return { kind: 'answered', answer }
      return { kind: 'failed', message: `the answer of ${answer.length} bytes is too large; ask for less` }
    } catch (error) {
      this.#failed(error)
      return { kind: 'failed', message: errorText(error) }
    }
  }
}

/** The fault that an asker gets instead of an answer. */
export function faultOf(address: string, outcome: NoAnswer): Fault {
  switch (outcome.kind) {
    case 'failed':
      return new Fault('NODE_FAILED', { retryable: false, message: `node ${address}: ${outcome.message}` })
    case 'absent':
      return absent(address)
    case 'closing':
      return notReached(address, 'is closing')
    case 'busy':
      return new Fault('OVERLOADED', {
        retryable: true,
        message: `node ${address} is answering too many questions; try again`,
      })
    default:
      return unreachable(outcome)
  }
}

export function absent(address: string): Fault {
  return new Fault('NODE_ABSENT', { retryable: true, message: `node ${address} is not running` })
}

export function notReached(address: string, why: string): Fault {
  return new Fault('NODE_UNREACHABLE', { retryable: true, message: `node ${address} ${why}` })
}

/** Checks the size of a question before it is sent. */
export function questionFault({ length }: Uint8Array): Fault | undefined {
  if (length <= LIMITS.meshMessageBytesMax) return undefined
  return new Fault('NODE_FAILED', {
    retryable: false,
    message: `a question of ${length} bytes is too large for another node; send less at once`,
  })
}

export function checkNews({ length }: Uint8Array): void {
  if (length > LIMITS.meshMessageBytesMax) throw new RangeError(`news of ${length} bytes are too large`)
}
