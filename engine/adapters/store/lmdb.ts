// The embedded store: records, vitals and positions in tables of one LMDB file, and an index of them in memory.
//
// - A save is one transaction: records, documents, dead letters, late hours, history, notices and positions, all or
//   nothing (R4).
// - Memory changes after the commit only, in the order of the saves; a failed save leaves no trace.
// - Records are read and decoded when asked for; memory holds just what lists and filters need.

import { type DeviceId, Partition } from '../../../schemas/ids.ts'
import type { DeviceRecord } from '../../domain/device/record.ts'
import { newPackr } from '../../domain/packing.ts'
import { Fault } from '../../ports/fault.ts'
import {
  type Checkpoint,
  type Claim,
  DEVICE_PARTS,
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterQuery,
  type DevicePart,
  type LateHour,
  type LetterReason,
  type OutboxBatch,
  type Save,
  type SavedCommand,
  type Store,
  type StoredDevice,
} from '../../ports/store.ts'
import { type Change, CommitError, type Key, type LmdbEnv } from '../lmdb/lmdb-env.ts'
import { DeviceDirectory } from './device-directory.ts'
import { DOCUMENT_TABLES, LmdbDocuments, LmdbNotices } from './lmdb-documents.ts'
import {
  OUTBOX_BOUNDS,
  type OutboxBounds,
  OutboxCount,
  oldestBatches,
  outboxKey,
  packedRows,
  rowsOfBatch,
  timeOfBatch,
  unpackedRows,
} from './outbox.ts'
import { keyOfLate, type PartitionOf, SavedState } from './saved-state.ts'

const DEVICES = 'devices'
const VITALS = 'vitals'
const POSITIONS = 'positions'
const LETTERS = 'letters'
const LATE = 'late'
const FACTS = 'facts'
const OUTBOX = 'outbox'
/** Keyed by device, then command. */
const COMMANDS = 'commands'
/** The table of each part of a device. */
const PARTS: Readonly<Record<DevicePart, string>> = {
  shadow: 'shadows',
  firmware: 'firmware',
  alerts: 'alerts',
}
export const STORE_TABLES: readonly string[] = [
  ...[DEVICES, VITALS, POSITIONS, LETTERS, LATE, FACTS, OUTBOX, COMMANDS],
  ...Object.values(PARTS),
  ...DOCUMENT_TABLES,
]

/** The fact that says how often the store was opened. */
const WRITER = 'writer'
const BATCH = 1_000
const COMMANDS_AT_ONCE = 64

/** The environment holds at least `STORE_TABLES`; closing the store closes it. */
export function openLmdbStore(
  env: LmdbEnv,
  options: { readonly partitionOf: PartitionOf; readonly outbox?: OutboxBounds | undefined },
): Store {
  return new LmdbStore(env, options.partitionOf, options.outbox ?? OUTBOX_BOUNDS)
}

// Plain maps: a record must be readable without anything written beside it.
const packr = newPackr()

class LmdbStore implements Store {
  readonly devices: DeviceDirectory
  readonly documents: LmdbDocuments
  readonly writer: number
  readonly #env: LmdbEnv
  readonly #state: SavedState
  readonly #outbox: OutboxCount
  readonly #notices: LmdbNotices

  constructor(env: LmdbEnv, partitionOf: PartitionOf, outbox: OutboxBounds) {
    this.#env = env
    this.documents = new LmdbDocuments(env)
    this.#notices = new LmdbNotices(env)
    this.#outbox = new OutboxCount(outbox)
    for (const key of this.#outboxKeys()) this.#outbox.added(rowsOfBatch(key))
    this.#state = new SavedState(partitionOf)
    this.devices = new DeviceDirectory(this.#state.index, (id) => this.#read(id))
    for (const { value } of this.#scan(DEVICES)) this.#state.putDevice(unpack<DeviceRecord>(value))
    for (const { key, value } of this.#scan(LETTERS)) this.#state.letters.add(Number(key), unpack(value))
    for (const { value } of this.#scan(LATE)) this.#state.addLate([unpack(value)])
    for (const { key, value } of this.#scan(FACTS)) this.#state.facts.set(String(key), unpack(value))
    for (const { key, value } of this.#scan(POSITIONS)) this.#loadPosition(String(key), unpack(value))
    this.writer = Number(this.#state.facts.get(WRITER) ?? 0) + 1
    // If it is not stored, because the disk is full, a later process has the same number at another time.
    void this.putFact(WRITER, String(this.writer)).catch(() => undefined)
  }

  isUp(): boolean {
    return true
  }

  async claim(claims: readonly Claim[]): Promise<void> {
    this.#state.checkClaims(claims)
    // At once: what is saved from here on is written after it.
    this.#state.claimed(claims)
    await this.#write(claims.map(({ partition, epoch }) => put(POSITIONS, `epoch/${partition}`, epoch)))
  }

  async *load(partitions: readonly Partition[]): AsyncGenerator<readonly StoredDevice[]> {
    const ids = this.#state.index.idsOf(new Set(partitions))
    for (let at = 0; at < ids.length; at += BATCH) {
      const batch: StoredDevice[] = []
      for (const id of ids.slice(at, at + BATCH)) {
        const device = this.#read(id)
        if (device === undefined) continue
        const vitals = this.#env.read(VITALS, id)
        batch.push({ device, vitals, parts: this.#partsOf(id), commands: this.#commandsOf(id) })
      }
      yield batch
    }
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
    const added = letters.number(save.deadLetters)
    const dropped = added.length === 0 ? [] : letters.takeDropped()
    const gone = [...letters.keysOf(save.lettersGone), ...letters.keysOfDevices(save.gone)]
    const history = this.#historyChanges(save.history)
    const notices = this.#notices.changesOf(save.notices, save.noticesGone)
    try {
      await this.#write([
        ...save.gone.flatMap((id) => this.#removalsOf(id)),
        ...save.changed.map((device) => put(DEVICES, device.id, device)),
        ...save.parts.map(({ deviceId, part, bytes }) => ({
          table: PARTS[part],
          key: deviceId,
          value: bytes,
        })),
        ...save.commands.map(toChange),
        ...save.applied.map(({ partition, seq }) => put(POSITIONS, `applied/${partition}`, seq)),
        ...added.map(({ key, letter }) => put(LETTERS, key, letter)),
        ...[...dropped, ...gone].map((key) => ({ table: LETTERS, key })),
        ...save.late.map((late) => put(LATE, keyOfLate(late), late)),
        ...history.changes,
        ...this.documents.changesOf(save.documents),
        ...notices.changes,
      ])
    } catch (error) {
      letters.returnDropped(dropped)
      throw error
    }
    letters.remove(gone)
    this.#state.saved(save, added)
    this.#outbox.added(history.added)
    this.#outbox.dropped(history.dropped)
    this.#notices.saved(notices)
    this.documents.written(save.documents)
  }

  async checkpoint({ claims, inserted, vitals }: Checkpoint): Promise<void> {
    this.#state.checkClaims(claims)
    await this.#write([
      ...inserted.map(({ partition, seq }) => put(POSITIONS, `inserted/${partition}`, seq)),
      ...vitals
        .filter(({ deviceId }) => this.#state.index.has(deviceId))
        .map(({ deviceId, bytes }) => ({ table: VITALS, key: deviceId, value: bytes })),
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
    await this.#write(hours.map((late) => ({ table: LATE, key: keyOfLate(late) })))
    this.#state.removeLate(hours)
  }

  async outbox(bounds: {
    readonly rowsMax: number
    readonly bytesMax: number
  }): Promise<readonly OutboxBatch[]> {
    const found = this.#env.readSome(OUTBOX, bounds.bytesMax)
    const batches: OutboxBatch[] = []
    let rows = 0
    for (const { key, value } of found) {
      rows += rowsOfBatch(String(key))
      if (batches.length > 0 && rows > bounds.rowsMax) break
      batches.push({ key: String(key), rows: unpackedRows(unpack(value)) })
    }
    return batches
  }

  async clearHistory(keys: readonly string[]): Promise<void> {
    const there = keys.filter((key) => this.#env.peek(OUTBOX, key) !== undefined)
    await this.#write(there.map((key) => ({ table: OUTBOX, key })))
    this.#outbox.removed(there)
  }

  async oldestHistory() {
    const [key] = this.#env.readKeys(OUTBOX, undefined, 1)
    return key === undefined ? undefined : timeOfBatch(String(key))
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
    await this.#write([put(FACTS, name, value)])
    this.#state.facts.set(name, value)
  }

  async close(): Promise<void> {
    await this.#env.close()
  }

  #read(id: DeviceId): DeviceRecord | undefined {
    if (!this.#state.index.has(id)) return undefined
    const bytes = this.#env.peek(DEVICES, id)
    return bytes === undefined ? undefined : unpack<DeviceRecord>(bytes)
  }

  async #write(changes: readonly Change[]): Promise<void> {
    try {
      await this.#env.write(changes)
    } catch (cause) {
      const isFinal = cause instanceof CommitError && cause.isFinal
      throw new Fault('STORE_UNAVAILABLE', { retryable: !isFinal, cause })
    }
  }

  #historyChanges(rows: Save['history']): {
    readonly changes: readonly Change[]
    readonly added: number
    readonly dropped: readonly string[]
  } {
    const key = outboxKey(rows)
    if (key === undefined) return { changes: [], added: 0, dropped: [] }
    const isAgain = this.#env.peek(OUTBOX, key) !== undefined
    const excess = isAgain ? 0 : this.#outbox.excess(rows.length, this.#env.bytesOf(OUTBOX))
    const dropped = excess === 0 ? [] : oldestBatches(this.#outboxKeys(), excess)
    const changes = [
      ...dropped.map((old) => ({ table: OUTBOX, key: old })),
      put(OUTBOX, key, packedRows(rows)),
    ]
    return { changes, added: isAgain ? 0 : rows.length, dropped }
  }

  *#outboxKeys(): Generator<string> {
    for (let after: Key | undefined; ; ) {
      const keys = this.#env.readKeys(OUTBOX, after, BATCH)
      for (const key of keys) yield String(key)
      after = keys.at(-1)
      if (keys.length < BATCH) return
    }
  }

  #partsOf(id: DeviceId): StoredDevice['parts'] {
    const parts: { [Part in DevicePart]?: Uint8Array } = {}
    for (const part of DEVICE_PARTS) {
      const bytes = this.#env.read(PARTS[part], id)
      if (bytes !== undefined) parts[part] = bytes
    }
    return parts
  }

  #commandsOf(id: DeviceId): readonly Uint8Array[] {
    const prefix = `${id}/`
    const found: Uint8Array[] = []
    // Most devices have none: one look tells.
    for (let after = prefix, limit = 1; ; limit = COMMANDS_AT_ONCE) {
      const entries = this.#env.readRange(COMMANDS, after, limit)
      for (const { key, value } of entries) {
        after = String(key)
        if (!after.startsWith(prefix)) return found
        found.push(value)
      }
      if (entries.length < limit) return found
    }
  }

  #removalsOf(id: DeviceId): readonly Change[] {
    const tables = [DEVICES, VITALS, ...Object.values(PARTS)]
    const late = this.#state.lateHoursOf(id).map(keyOfLate)
    return [
      ...tables.map((table) => ({ table, key: id })),
      ...this.#commandKeysOf(id).map((key) => ({ table: COMMANDS, key })),
      ...late.map((key) => ({ table: LATE, key })),
    ]
  }

  #commandKeysOf(id: DeviceId): readonly string[] {
    const prefix = `${id}/`
    const found: string[] = []
    for (let after: Key = prefix; ; ) {
      const keys = this.#env.readKeys(COMMANDS, after, COMMANDS_AT_ONCE)
      for (const key of keys) {
        if (!String(key).startsWith(prefix)) return found
        found.push(String(key))
      }
      after = keys.at(-1) ?? after
      if (keys.length < COMMANDS_AT_ONCE) return found
    }
  }

  *#scan(table: string): Generator<{ key: Key; value: Uint8Array }> {
    let after: Key | undefined
    for (;;) {
      const found = this.#env.readRange(table, after, BATCH)
      yield* found
      after = found.at(-1)?.key
      if (found.length < BATCH) return
    }
  }

  #loadPosition(key: string, seq: number): void {
    const [kind, number] = key.split('/')
    const partition = Partition(Number(number))
    if (kind === 'inserted') this.#state.checkpointed([{ partition, seq }])
    else if (kind === 'epoch') this.#state.claimed([{ partition, epoch: seq }])
    else this.#state.reached([{ partition, seq }])
  }
}

function put(table: string, key: Key, value: unknown): Change {
  return { table, key, value: packr.pack(value) }
}

function toChange({ deviceId, commandId, bytes }: SavedCommand): Change {
  const key = `${deviceId}/${commandId}`
  return bytes === undefined ? { table: COMMANDS, key } : { table: COMMANDS, key, value: bytes }
}

/** This file wrote the value, with this type. */
function unpack<T>(bytes: Uint8Array): T {
  return packr.unpack(bytes) as T
}
