// The order of the dead letters: bounded, each message once, newest first to the reader.
import type { DeviceId } from '../../../schemas/ids.ts'
import type { DeadLetter, DeadLetterQuery } from '../../ports/store.ts'

interface LetterPlace {
  readonly key: number
  readonly id: string
  readonly deviceId: DeviceId
}

export class LetterList {
  readonly #lettersMax: number
  readonly #ids = new Set<string>()
  #listed: LetterPlace[] = []
  #dropped: number[] = []
  #nextKey = 1

  constructor(lettersMax: number) {
    this.#lettersMax = lettersMax
  }

  /** The letters not listed yet, each with the key it shall be kept under. */
  number(letters: readonly DeadLetter[]): readonly { readonly key: number; readonly letter: DeadLetter }[] {
    return letters.filter(({ id }) => !this.#ids.has(id)).map((letter) => ({ key: this.#nextKey++, letter }))
  }

  add(key: number, { id, deviceId }: DeadLetter): void {
    this.#nextKey = Math.max(this.#nextKey, key + 1)
    this.#listed.push({ key, id, deviceId })
    this.#ids.add(id)
    // In lumps, so that a full list does not move at every letter.
    if (this.#listed.length > this.#lettersMax * 1.1) this.#drop()
  }

  /** Keys that are no longer listed, handed over for removal. */
  takeDropped(): readonly number[] {
    this.#drop()
    return this.#dropped.splice(0)
  }

  /** They could not be removed after all. */
  returnDropped(keys: readonly number[]): void {
    this.#dropped.push(...keys)
  }

  page(query: DeadLetterQuery): {
    readonly keys: readonly number[]
    readonly total: number
  } {
    this.#drop()
    const { deviceId, offset, limit } = query
    const matching =
      deviceId === undefined ? this.#listed : this.#listed.filter((l) => l.deviceId === deviceId)
    const end = Math.max(0, matching.length - offset)
    const keys = matching.slice(Math.max(0, end - limit), end).map(({ key }) => key)
    return { keys: keys.reverse(), total: matching.length }
  }

  #drop(): void {
    for (const { key, id } of this.#listed.splice(0, this.#listed.length - this.#lettersMax)) {
      this.#dropped.push(key)
      this.#ids.delete(id)
    }
  }
}
