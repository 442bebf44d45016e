// A message that kills its shard must not block its partition (R10). The shard notes which message it is working on. A
// message at which it dies repeatedly becomes a dead letter and is left out of every later batch of this process.

import { type Item, readItems, withoutItems } from '../../domain/bundle.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Entry } from '../../ports/log.ts'
import { type DeadLetter, type DeadLetters, NO_SAVE } from '../../ports/store.ts'
import { toDeadLetter } from '../shard/dead-letters.ts'
import type { Suspect } from '../shard/progress.ts'
import type { Proposal } from '../shard/protocol.ts'

/** How many suspects are remembered. With so many different ones, the messages are not to blame. */
const SUSPECTS_MAX = 100

export class PoisonMessages {
  readonly #store: Pick<DeadLetters, 'deadLetters'>
  readonly #park: (parked: Proposal) => Promise<void>
  #deaths = 0
  readonly #suspects = new Map<string, number>()
  readonly #parked = new Map<string, Set<number>>()

  /** `park` resolves once the letter is saved and told. */
  constructor(store: Pick<DeadLetters, 'deadLetters'>, park: (parked: Proposal) => Promise<void>) {
    this.#store = store
    this.#park = park
  }

  /** How often the shard has died since entries last passed. */
  get deaths(): number {
    return this.#deaths
  }

  entriesPassed(): void {
    this.#deaths = 0
  }

  /** The entries without their parked messages. Positions still count these. */
  withoutParked(entries: readonly Entry[]): readonly Entry[] {
    if (this.#parked.size === 0) return entries
    return entries.map((entry) => {
      const indexes = this.#parked.get(keyOf(entry))
      return indexes === undefined ? entry : { ...entry, body: withoutItems(entry.body, indexes) }
    })
  }

  /** Called when the shard died with these entries. `suspect`: the message that it was working on, if any. */
  async shardDied(entries: readonly Entry[], suspect: Suspect | undefined): Promise<void> {
    this.#deaths++
    if (suspect === undefined) return
    const { partition, seq, index } = suspect
    const entry = entries.find((one) => one.partition === partition && one.seq === seq)
    const item = entry === undefined ? undefined : itemAt(entry, index)
    if (entry === undefined || item === undefined) return
    const key = `${keyOf(entry)} ${index}`
    const deaths = (this.#suspects.get(key) ?? 0) + 1
    if (this.#suspects.size >= SUSPECTS_MAX) this.#suspects.clear()
    this.#suspects.set(key, deaths)
    const detail = `its thread died on this message ${deaths} times`
    const letter = toDeadLetter({ item, entry, index }, { reason: 'SHARD_CRASH', detail })
    const isKnown = await this.#isParked(letter)
    if (deaths < LIMITS.attemptsMax && !isKnown) return
    if (!isKnown) await this.#park(onlyLetters([letter]))
    this.#suspects.delete(key)
    const parked = this.#parked.get(keyOf(entry)) ?? new Set()
    this.#parked.set(keyOf(entry), parked.add(index))
  }

  /** Whether an earlier incarnation of the process parked the message. False if the store does not answer. Then the message
   *  is tried again and after enough deaths parked once more, which changes nothing. */
  async #isParked({ id, deviceId }: DeadLetter): Promise<boolean> {
    try {
      const { letters } = await this.#store.deadLetters({ offset: 0, limit: LIMITS.deadLettersMax, deviceId })
      return letters.some((letter) => letter.id === id)
    } catch (error) {
      if (error instanceof Fault && error.retryable) return false
      throw error
    }
  }
}

/** A proposal with these letters and nothing else. */
export function onlyLetters(deadLetters: readonly DeadLetter[]): Proposal {
  const nothing = { replies: [], outbound: [], ota: [], cuts: [], ended: [], feed: [] }
  return { ...NO_SAVE, ...nothing, deadLetters }
}

function itemAt(entry: Entry, index: number): Item | undefined {
  let at = 0
  for (const item of readItems(entry.body)) if (at++ === index) return item
  return undefined
}

function keyOf({ partition, seq }: Entry): string {
  return `${partition} ${seq}`
}
