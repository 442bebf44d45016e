// A store without a disk, for tests and simulations: no timers, no randomness, everything settled within microtasks.

import type { CommandId, DeviceId, Partition } from '../../../../schemas/ids.ts'
import { chunks } from '../../../domain/chunks.ts'
import type { DeviceRecord } from '../../../domain/device/record.ts'
import type {
  Checkpoint,
  Claim,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterQuery,
  DevicePart,
  LateHour,
  LetterReason,
  OutboxBatch,
  Save,
  SavedCommand,
  Store,
  StoredDevice,
} from '../../../ports/store.ts'
import { DeviceDirectory } from '../device-directory.ts'
import { NoticeCount } from '../notice-count.ts'
import {
  OUTBOX_BOUNDS,
  type OutboxBounds,
  OutboxCount,
  oldestBatches,
  outboxKey,
  timeOfBatch,
} from '../outbox.ts'
import { type PartitionOf, SavedState } from '../saved-state.ts'
import { MemoryDocuments } from './memory-documents.ts'

const BATCH = 1_000

/** The contents of the disk, if there were one. */
class Durable {
  readonly devices = new Map<DeviceId, DeviceRecord>()
  readonly vitals = new Map<DeviceId, Uint8Array>()
  readonly parts = new Map<DeviceId, { [Part in DevicePart]?: Uint8Array }>()
  readonly commands = new Map<DeviceId, Map<CommandId, Uint8Array>>()
  readonly letters = new Map<number, DeadLetter>()
  readonly history = new Map<string, Save['history']>()
  readonly documents = new MemoryDocuments()
  readonly notices = new Map<string, Uint8Array>()
  readonly noticeCount = new NoticeCount()
  writers = 0
  readonly outbox: OutboxCount
  readonly state: SavedState

  constructor(partitionOf: PartitionOf, outbox: OutboxBounds) {
    this.outbox = new OutboxCount(outbox)
    this.state = new SavedState(partitionOf)
  }
}

export class MemoryStore implements Store {
  readonly devices: DeviceDirectory
  readonly documents: MemoryDocuments
  readonly writer: number
  readonly #durable: Durable
  #isDead = false

  constructor(
    options: { readonly partitionOf: PartitionOf; readonly outbox?: OutboxBounds | undefined } | Durable,
  ) {
    this.#durable =
      options instanceof Durable ? options : new Durable(options.partitionOf, options.outbox ?? OUTBOX_BOUNDS)
    const { devices, state, documents } = this.#durable
    this.documents = documents
    this.writer = ++this.#durable.writers
    this.devices = new DeviceDirectory(state.index, (id) => devices.get(id))
  }

  /** The process dies: this store does nothing any more. What was saved is in the one returned. */
  crash(): MemoryStore {
    this.#isDead = true
    return new MemoryStore(this.#durable)
  }

  isUp(): boolean {
    return true
  }

  async claim(claims: readonly Claim[]): Promise<void> {
    await this.#live()
    this.#durable.state.checkClaims(claims)
    this.#durable.state.claimed(claims)
  }

  async *load(partitions: readonly Partition[]): AsyncGenerator<readonly StoredDevice[]> {
    const { devices, vitals, parts, commands, state } = this.#durable
    const ids = state.index.idsOf(new Set(partitions))
    for (const some of chunks(ids, BATCH))
      yield some.flatMap((id) => {
        const device = devices.get(id)
        if (device === undefined) return []
        const kept = [...(commands.get(id)?.values() ?? [])]
        return [{ device, vitals: vitals.get(id), parts: parts.get(id) ?? {}, commands: kept }]
      })
  }

  applied() {
    return this.#durable.state.applied()
  }

  inserted() {
    return this.#durable.state.inserted()
  }

  epochs() {
    return this.#durable.state.epochs()
  }

  async save(save: Save): Promise<void> {
    await this.#live()
    const { devices, letters, state } = this.#durable
    state.checkClaims(save.claims)
    const gone = [...state.letters.keysOf(save.lettersRemoved), ...state.letters.keysOfDevices(save.removed)]
    state.letters.remove(gone)
    for (const key of gone) letters.delete(key)
    const added = state.letters.assignKeys(save.deadLetters)
    for (const id of save.removed)
      for (const table of [devices, this.#durable.vitals, this.#durable.parts, this.#durable.commands])
        table.delete(id)
    for (const device of save.changed) devices.set(device.id, device)
    for (const { deviceId, part, bytes } of save.parts)
      this.#durable.parts.set(deviceId, { ...this.#durable.parts.get(deviceId), [part]: bytes })
    for (const command of save.commands) this.#saveCommand(command)
    for (const { key, letter } of added) letters.set(key, letter)
    state.saved(save, added)
    for (const key of state.letters.takeDropped()) letters.delete(key)
    this.#saveHistory(save.history)
    this.#saveNotices(save.notices, save.noticesRemoved)
    this.documents.save(save.documents)
  }

  async checkpoint({ claims, inserted, vitals }: Checkpoint): Promise<void> {
    await this.#live()
    this.#durable.state.checkClaims(claims)
    for (const { deviceId, bytes } of vitals)
      if (this.#durable.state.index.has(deviceId)) this.#durable.vitals.set(deviceId, bytes.slice())
    this.#durable.state.checkpointed(inserted)
  }

  async deadLetters(query: DeadLetterQuery) {
    const { keys, total } = this.#durable.state.letters.page(query)
    return { letters: keys.flatMap((key) => this.#durable.letters.get(key) ?? []), total }
  }

  async deadLetter(id: string): Promise<DeadLetter | undefined> {
    const key = this.#durable.state.letters.keyOf(id)
    return key === undefined ? undefined : this.#durable.letters.get(key)
  }

  async deadLetterReasons(filter: DeadLetterFilter): Promise<readonly LetterReason[]> {
    return this.#durable.state.letters.reasons(filter)
  }

  lateHours(): readonly LateHour[] {
    return this.#durable.state.lateHours()
  }

  lateHoursOf(deviceId: DeviceId): readonly LateHour[] {
    return this.#durable.state.lateHoursOf(deviceId)
  }

  async clearLate(hours: readonly LateHour[], claims: readonly Claim[] = []): Promise<void> {
    this.#durable.state.checkClaims(claims)
    await this.#live()
    this.#durable.state.removeLate(hours)
  }

  async outbox(bounds: {
    readonly rowsMax: number
    readonly bytesMax: number
  }): Promise<readonly OutboxBatch[]> {
    const batches: OutboxBatch[] = []
    let rows = 0
    for (const key of this.#outboxKeys()) {
      const batch = this.#durable.history.get(key) ?? []
      rows += batch.length
      if (batches.length > 0 && rows > bounds.rowsMax) break
      batches.push({ key, rows: batch })
    }
    return batches
  }

  async clearHistory(keys: readonly string[]): Promise<void> {
    await this.#live()
    const { history, outbox } = this.#durable
    outbox.removed(keys.filter((key) => history.delete(key)))
  }

  async oldestHistory() {
    const [key] = this.#outboxKeys()
    return key === undefined ? undefined : timeOfBatch(key)
  }

  outboxCounts() {
    return this.#durable.outbox.counts()
  }

  async notices(max: number) {
    const { notices } = this.#durable
    const keys = [...notices.keys()].sort().slice(0, max)
    return keys.flatMap((key) => {
      const bytes = notices.get(key)
      return bytes === undefined ? [] : [{ key, bytes }]
    })
  }

  noticeCounts() {
    return this.#durable.noticeCount.counts()
  }

  getFact(name: string): string | undefined {
    return this.#durable.state.facts.get(name)
  }

  async putFact(name: string, value: string, claims: readonly Claim[] = []): Promise<void> {
    this.#durable.state.checkClaims(claims)
    await this.#live()
    this.#durable.state.facts.set(name, value)
  }

  async close(): Promise<void> {
    this.#isDead = true
  }

  #saveCommand({ deviceId, commandId, bytes }: SavedCommand): void {
    const { commands } = this.#durable
    const kept = commands.get(deviceId) ?? new Map<CommandId, Uint8Array>()
    commands.set(deviceId, kept)
    if (bytes === undefined) kept.delete(commandId)
    else kept.set(commandId, bytes)
  }

  #saveHistory(rows: Save['history']): void {
    const { history, outbox } = this.#durable
    const key = outboxKey(rows)
    if (key === undefined || history.has(key)) return
    const excess = outbox.excess(rows.length, 0)
    const dropped = excess === 0 ? [] : oldestBatches(this.#outboxKeys(), excess)
    for (const old of dropped) history.delete(old)
    outbox.dropped(dropped)
    history.set(key, rows)
    outbox.added(rows.length)
  }

  #saveNotices(added: Save['notices'], gone: Save['noticesRemoved']): void {
    const { notices, noticeCount } = this.#durable
    for (const { key, bytes } of added) {
      if (notices.has(key)) continue
      if (noticeCount.room() === 0) noticeCount.refused(1)
      else {
        notices.set(key, bytes)
        noticeCount.added(1)
      }
    }
    noticeCount.removed(gone.filter((key) => notices.delete(key)).length)
  }

  #outboxKeys(): readonly string[] {
    return [...this.#durable.history.keys()].sort()
  }

  /** A dead process gets no answer. */
  #live(): Promise<void> {
    return this.#isDead ? new Promise(() => undefined) : Promise.resolve()
  }
}
