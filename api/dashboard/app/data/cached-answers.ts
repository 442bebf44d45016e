// The answers that the page has had: one for an operation and its arguments, shared by all who show it.
//
// - While somebody uses an answer, what makes it old asks for it anew; it is never emptied under its users.
// - An answer that nobody uses is emptied by what makes it old, and who uses it next asks for it.
// - An answer that was asked for before something made it old is not shown in place of a newer one.
import { type Signal, signal } from '@preact/signals'
import { type SharedRequest, sharedRequest } from './shared-request.ts'

export interface Answer<Data> {
  readonly data: Data | undefined
  readonly error: unknown
  readonly isLoading: boolean
  /** When the data came, by the browser's clock. */
  readonly at: number
}

const NOTHING: Answer<never> = { data: undefined, error: undefined, isLoading: false, at: 0 }

export interface AnswerRequest {
  readonly operation: string
  readonly load: () => Promise<unknown>
  /** What it answers never changes, so one answer is enough. */
  readonly isFixed: boolean
}

export class CachedAnswer {
  readonly answer: Signal<Answer<unknown>> = signal<Answer<unknown>>(NOTHING)
  readonly operation: string
  readonly #request: SharedRequest
  readonly #isFixed: boolean
  #users = 0
  #chars = 0

  constructor({ operation, load, isFixed }: AnswerRequest) {
    const { answer } = this
    this.operation = operation
    this.#isFixed = isFixed
    this.#request = sharedRequest({
      load,
      starts: () => {
        answer.value = { ...answer.peek(), isLoading: true }
      },
      succeeds: (data) => {
        this.#chars = JSON.stringify(data)?.length ?? 0
        answer.value = { data, error: undefined, isLoading: false, at: Date.now() }
      },
      fails: (error) => {
        answer.value = { ...answer.peek(), error, isLoading: false }
      },
    })
  }

  get isUsed(): boolean {
    return this.#users > 0
  }

  /** The length of its data as text. */
  get chars(): number {
    return this.#chars
  }

  /** It is there and cannot become old. */
  get isFinal(): boolean {
    return this.#isFixed && this.answer.peek().data !== undefined
  }

  /** It is used until the function that this gives is called. */
  use(): () => void {
    this.#users += 1
    return () => {
      this.#users -= 1
    }
  }

  ask(): void {
    void this.#request.ask()
  }

  /** Something was written that it may not have seen. */
  outdate(): void {
    const isAsked = this.answer.peek() !== NOTHING
    if (!isAsked || this.isFinal) return
    if (this.isUsed) void this.#request.askAnew()
    else {
      this.#request.forget()
      this.#chars = 0
      this.answer.value = NOTHING
    }
  }
}

export interface CacheLimits {
  readonly entriesMax: number
  readonly charsMax: number
}

export class CachedAnswers {
  readonly #entries = new Map<string, CachedAnswer>()
  readonly #limits: CacheLimits

  constructor(limits: CacheLimits) {
    this.#limits = limits
  }

  at(key: string, request: AnswerRequest): CachedAnswer {
    const entry = this.#entries.get(key) ?? new CachedAnswer(request)
    // The newest is last, so that the oldest falls out first.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    this.#dropOldest(entry)
    return entry
  }

  outdate(operations: readonly string[]): void {
    for (const entry of this.#entries.values()) if (operations.includes(entry.operation)) entry.outdate()
  }

  #dropOldest(newest: CachedAnswer): void {
    const { entriesMax, charsMax } = this.#limits
    let chars = 0
    for (const entry of this.#entries.values()) chars += entry.chars
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size <= entriesMax && chars <= charsMax) break
      if (entry.isUsed || entry === newest) continue
      this.#entries.delete(key)
      chars -= entry.chars
    }
  }
}
