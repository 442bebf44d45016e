// The embedded store: records, vitals and positions in tables of one LMDB file, and an index of them in memory.
//
// - A save is one transaction: records, documents, dead letters, late hours, history, notices and positions, all or
//   nothing (R4).
// - Memory changes after the commit only, in the order of the saves; a failed save leaves no trace.
// - Records are read and decoded when asked for; memory holds just what lists and filters need.

import { type DeviceId, Partition } from '../../../schemas/ids.ts'
import { chunks } from '../../domain/chunks.ts'
import type { DeviceRecord } from '../../domain/device/record.ts'
import type {
  Checkpoint,
  Claim,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterQuery,
  LateHour,
  LetterReason,
  OutboxBatch,
  Save,
  Store,
  StoredDevice,
} from '../../ports/store.ts'
import type { Change, LmdbEnv } from '../lmdb/lmdb-env.ts'
import { saveChanges } from '../lmdb/save-changes.ts'
import { DeviceDirectory } from './device-directory.ts'
import { DOCUMENT_TABLES, LmdbDocuments, LmdbNotices } from './lmdb-documents.ts'
import { LmdbOutbox, OUTBOX_TABLES } from './lmdb-outbox.ts'
import { LmdbRecords, RECORD_TABLES } from './lmdb-records.ts'
import { put, unpack } from './lmdb-values.ts'
import { OUTBOX_BOUNDS, type OutboxBounds } from './outbox.ts'
import { keyOfLate, type PartitionOf, SavedState } from './saved-state.ts'

const POSITIONS = 'positions'
const LETTERS = 'letters'
const LATE = 'late'
const FACTS = 'facts'
export const STORE_TABLES: readonly string[] = [
  ...[POSITIONS, LETTERS, LATE, FACTS],
  ...RECORD_TABLES,
  ...OUTBOX_TABLES,
  ...DOCUMENT_TABLES,
]

/** The fact that counts how often the store was opened. */
const WRITER = 'writer'
const BATCH = 1_000

/** The environment holds at least `STORE_TABLES`; closing the store closes it. */
export function openLmdbStore(
  env: LmdbEnv,
  options: { readonly partitionOf: PartitionOf; readonly outbox?: OutboxBounds | undefined },
): Store {
  return new LmdbStore(env, options.partitionOf, options.outbox ?? OUTBOX_BOUNDS)
}

class LmdbStore implements Store {
  readonly devices: DeviceDirectory
  readonly documents: LmdbDocuments
  readonly writer: number
  readonly #env: LmdbEnv
  readonly #state: SavedState
  readonly #outbox: LmdbOutbox
  readonly #records: LmdbRecords
  readonly #notices: LmdbNotices

  constructor(env: LmdbEnv, partitionOf: PartitionOf, outbox: OutboxBounds) {
    this.#env = env
    this.documents = new LmdbDocuments(env)
    this.#notices = new LmdbNotices(env)
    this.#outbox = new LmdbOutbox(env, outbox)
    this.#records = new LmdbRecords(env)
    this.#state = new SavedState(partitionOf)
    this.devices = new DeviceDirectory(this.#state.index, (id) => this.#recordOf(id))
    for (const record of this.#records.all()) this.#state.putDevice(record)
    for (const { key, value } of this.#env.entries(LETTERS))
      this.#state.letters.add(Number(key), unpack(value))
    for (const { value } of this.#env.entries(LATE)) this.#state.addLate([unpack(value)])
    for (const { key, value } of this.#env.entries(FACTS)) this.#state.facts.set(String(key), unpack(value))
    for (const { key, value } of this.#env.entries(POSITIONS)) this.#loadPosition(String(key), unpack(value))
    this.writer = Number(this.#state.facts.get(WRITER) ?? 0) + 1
    // If this fails because the disk is full, a later process gets the same number, but at another time.
    void this.putFact(WRITER, String(this.writer)).catch(() => undefined)
  }

  isUp(): boolean {
    return true
  }

  async claim(claims: readonly Claim[]): Promise<void> {
    this.#state.checkClaims(claims)
    // Takes effect at once: saves from here on are written after the claim.
    this.#state.claimed(claims)
    await saveChanges(
      this.#env,
      claims.map(({ partition, epoch }) => put(POSITIONS, `epoch/${partition}`, epoch)),
    )
  }

  async *load(partitions: readonly Partition[]): AsyncGenerator<readonly StoredDevice[]> {
    const ids = this.#state.index.idsOf(new Set(partitions))
    for (const some of chunks(ids, BATCH)) yield some.flatMap((id) => this.#records.stored(id) ?? [])
  }

  applied() {
    return this.#state.applied()
  }

  inserted() {
    return this.#state.inserted()
  }

  epochs() {
    return this.#state.epochs()
  }

  async save(save: Save): Promise<void> {
    this.#state.checkClaims(save.claims)
    const { letters } = this.#state
    const added = letters.assignKeys(save.deadLetters)
    const dropped = added.length === 0 ? [] : letters.takeDropped()
    const removedLetters = [...letters.keysOf(save.lettersRemoved), ...letters.keysOfDevices(save.removed)]
    const history = this.#outbox.changesOf(save.history)
    const notices = this.#notices.changesOf(save.notices, save.noticesRemoved)
    try {
      await saveChanges(this.#env, [
        ...save.removed.flatMap((id) => this.#removalsOf(id)),
        ...this.#records.changesOf(save),
        ...save.applied.map(({ partition, seq }) => put(POSITIONS, `applied/${partition}`, seq)),
        ...added.map(({ key, letter }) => put(LETTERS, key, letter)),
        ...[...dropped, ...removedLetters].map((key) => ({ table: LETTERS, key })),
        ...save.late.map((late) => put(LATE, keyOfLate(late), late)),
        ...history.changes,
        ...this.documents.changesOf(save.documents),
        ...notices.changes,
      ])
    } catch (error) {
      letters.returnDropped(dropped)
      throw error
    }
    letters.remove(removedLetters)
    this.#state.saved(save, added)
    this.#outbox.saved(history)
    this.#notices.saved(notices)
    this.documents.written(save.documents)
  }

  async checkpoint({ claims, inserted, vitals }: Checkpoint): Promise<void> {
    this.#state.checkClaims(claims)
    await saveChanges(this.#env, [
      ...inserted.map(({ partition, seq }) => put(POSITIONS, `inserted/${partition}`, seq)),
      ...this.#records.vitalsOf(vitals.filter(({ deviceId }) => this.#state.index.has(deviceId))),
    ])
    this.#state.checkpointed(inserted)
  }

  async deadLetters(query: DeadLetterQuery) {
    const { keys, total } = this.#state.letters.page(query)
    const letters = keys.flatMap((key) => {
      const bytes = this.#env.read(LETTERS, key)
      return bytes === undefined ? [] : [unpack<DeadLetter>(bytes)]
    })
    return { letters, total }
  }

  async deadLetter(id: string): Promise<DeadLetter | undefined> {
    const key = this.#state.letters.keyOf(id)
    const bytes = key === undefined ? undefined : this.#env.read(LETTERS, key)
    return bytes === undefined ? undefined : unpack<DeadLetter>(bytes)
  }

  async deadLetterReasons(filter: DeadLetterFilter): Promise<readonly LetterReason[]> {
    return this.#state.letters.reasons(filter)
  }

  lateHours(): readonly LateHour[] {
    return this.#state.lateHours()
  }

  lateHoursOf(deviceId: DeviceId): readonly LateHour[] {
    return this.#state.lateHoursOf(deviceId)
  }

  async clearLate(hours: readonly LateHour[], claims: readonly Claim[] = []): Promise<void> {
    this.#state.checkClaims(claims)
    await saveChanges(
      this.#env,
      hours.map((late) => ({ table: LATE, key: keyOfLate(late) })),
    )
    this.#state.removeLate(hours)
  }

  async outbox(bounds: OutboxBounds): Promise<readonly OutboxBatch[]> {
    return this.#outbox.oldest(bounds)
  }

  async clearHistory(keys: readonly string[]): Promise<void> {
    const removal = this.#outbox.removalOf(keys)
    await saveChanges(this.#env, removal.changes)
    this.#outbox.removed(removal.keys)
  }

  async oldestHistory() {
    return this.#outbox.oldestAt()
  }

  outboxCounts() {
    return this.#outbox.counts()
  }

  async notices(max: number) {
    return this.#notices.first(max)
  }

  noticeCounts() {
    return this.#notices.counts()
  }

  getFact(name: string): string | undefined {
    return this.#state.facts.get(name)
  }

  async putFact(name: string, value: string, claims: readonly Claim[] = []): Promise<void> {
    this.#state.checkClaims(claims)
    await saveChanges(this.#env, [put(FACTS, name, value)])
    this.#state.facts.set(name, value)
  }

  async close(): Promise<void> {
    await this.#env.close()
  }

  #recordOf(id: DeviceId): DeviceRecord | undefined {
    return this.#state.index.has(id) ? this.#records.record(id) : undefined
  }

  #removalsOf(id: DeviceId): readonly Change[] {
    const late = this.#state.lateHoursOf(id)
    return [...this.#records.removalsOf(id), ...late.map((hour) => ({ table: LATE, key: keyOfLate(hour) }))]
  }

  #loadPosition(key: string, seq: number): void {
    const [kind, number] = key.split('/')
    const partition = Partition(Number(number))
    if (kind === 'inserted') this.#state.checkpointed([{ partition, seq }])
    else if (kind === 'epoch') this.#state.claimed([{ partition, epoch: seq }])
    else this.#state.reached([{ partition, seq }])
  }
}
