// The store keeps device records with the log positions they follow from, and everything else that must survive a
// restart.

import type { CommandId, DeviceId, Micros, Millis, Partition } from '../../schemas/ids.ts'
import type { DeviceStatus } from '../../schemas/vocabulary.ts'
import type { UnusableMessage } from '../domain/dead-letter/error-message.ts'
import type { DeviceRecord } from '../domain/device/record.ts'
import type { LateHour } from '../domain/telemetry/late-hours.ts'
import type { Documents, SavedDocument } from './documents.ts'
import type { WrittenRow } from './history.ts'
import type { Positions } from './log.ts'
import type { Notice, Notices } from './notices.ts'

/** A message that could not be processed, parked with its reason (R10). */
export interface DeadLetter extends UnusableMessage {
  /** `dl_<partition>_<seq>_<index>`: replaying the log gives the same message the same id. */
  readonly id: string
  /** The first bytes of the payload, up to the limit. */
  readonly payload: Uint8Array
  readonly payloadBytes: number
}

export type LetterName = Pick<DeadLetter, 'id' | 'deviceId'>

/** Settled hours of a device that received late points: their rollups must be recomputed from raw points. */
export type { LateHour }

/** What is stored for a device beside its record and its commands. Most devices have few or none of these parts. */
export const DEVICE_PARTS = ['shadow', 'firmware', 'alerts'] as const
export type DevicePart = (typeof DEVICE_PARTS)[number]

/** A part of a device in the engine's own format, which the store does not interpret. */
export interface SavedPart {
  readonly deviceId: DeviceId
  readonly part: DevicePart
  readonly bytes: Uint8Array
}
export interface SavedCommand {
  readonly deviceId: DeviceId
  readonly commandId: CommandId
  /** The command in the engine's own format; undefined removes it. */
  readonly bytes: Uint8Array | undefined
}

/** The right to write a partition, held by one owner. A later owner has a greater epoch. */
export interface Claim {
  readonly partition: Partition
  readonly epoch: number
}

export interface Save {
  /** The writer's claims. Nothing is saved if a later owner has claimed one of these partitions since (R2). Empty where no
   *  other process can write. */
  readonly claims: readonly Claim[]
  /** The position in each partition of the batch that the changes result from. */
  readonly applied: readonly { readonly partition: Partition; readonly seq: number }[]
  /** Devices to be forgotten, together with their parts, commands, vitals, dead letters and late hours. Anything else in
   *  the save under the same ids belongs to later devices. */
  readonly removed: readonly DeviceId[]
  readonly changed: readonly DeviceRecord[]
  readonly parts: readonly SavedPart[]
  readonly commands: readonly SavedCommand[]
  readonly deadLetters: readonly DeadLetter[]
  readonly late: readonly LateHour[]
  /** Rows for ClickHouse. The outbox keeps them until they are inserted. */
  readonly history: readonly WrittenRow[]
  readonly documents: readonly SavedDocument[]
  /** Notices to be added to the leader's queue. A key that is already there is not added again. */
  readonly notices: readonly Notice[]
  /** Keys of notices that the leader has dealt with. */
  readonly noticesRemoved: readonly string[]
  /** Dead letters to be removed because somebody replayed or discarded them. Missing ones are ignored. */
  readonly lettersRemoved: readonly LetterName[]
}

/** The part of a save that a shard writes. Documents, and the removal of notices and dead letters, come from elsewhere. */
export type ShardSave = Omit<Save, 'claims' | 'documents' | 'noticesRemoved' | 'lettersRemoved'>

/** An empty save, to be spread into others. */
export const NO_SAVE: Save = {
  claims: [],
  applied: [],
  removed: [],
  changed: [],
  parts: [],
  commands: [],
  deadLetters: [],
  late: [],
  history: [],
  documents: [],
  notices: [],
  noticesRemoved: [],
  lettersRemoved: [],
}

/** History rows of one save that may not be in ClickHouse yet. */
export interface OutboxBatch {
  readonly key: string
  readonly rows: readonly WrittenRow[]
}

export interface OutboxCounts {
  readonly rows: number
  /** Rows dropped since the start, oldest first, because the outbox was full. */
  readonly dropped: number
}

/** Where a restart begins: everything at or below `inserted` is stored as rows and vitals. */
export interface Checkpoint {
  /** The writer's claims, checked as for a save. */
  readonly claims: readonly Claim[]
  readonly inserted: readonly { readonly partition: Partition; readonly seq: number }[]
  readonly vitals: readonly { readonly deviceId: DeviceId; readonly bytes: Uint8Array }[]
}

export interface StoredDevice {
  readonly device: DeviceRecord
  readonly vitals: Uint8Array | undefined
  readonly parts: Readonly<Partial<Record<DevicePart, Uint8Array>>>
  /** Unordered. */
  readonly commands: readonly Uint8Array[]
}

export interface DeviceFilter {
  /** Several statuses match any of them. */
  readonly status?: DeviceStatus | readonly DeviceStatus[] | undefined
  readonly type?: string | undefined
  /** Matches the group and its subtree, or the group alone if `groupExact`. */
  readonly group?: string | undefined
  readonly groupExact?: boolean | undefined
  /** A device must have all of these tags. */
  readonly tags?: readonly string[] | undefined
  /** The version that a device reports; an empty string matches devices that have reported none. */
  readonly firmwareVersion?: string | undefined
  /** Only sub-devices of this gateway. */
  readonly parentId?: DeviceId | undefined
  /** A prefix of the name or the id, in any letter case. */
  readonly q?: string | undefined
  /** Only devices in these group subtrees, an operator's scope. Undefined means all. */
  readonly within?: readonly string[] | undefined
}
export const DEVICE_SORTS = [
  'created_at',
  'name',
  'device_id',
  'status',
  'type',
  'group',
  'updated_at',
] as const
export type DeviceSort = (typeof DEVICE_SORTS)[number]

export interface DevicePageQuery {
  readonly offset: number
  readonly limit: number
  readonly sort?: DeviceSort
  readonly descending?: boolean
}

export type DeviceSummary = Pick<DeviceRecord, 'id' | 'name' | 'type' | 'status' | 'group' | 'tags'>

export interface DeadLetterPage {
  readonly letters: readonly DeadLetter[]
  readonly total: number
}

export interface DevicePage {
  readonly devices: readonly DeviceRecord[]
  readonly total: number
}

export interface DeadLetterFilter {
  readonly deviceId?: DeviceId | undefined
  readonly reason?: string | undefined
  /** Only letters received before this time. */
  readonly before?: Millis | undefined
}

export interface DeadLetterQuery extends DeadLetterFilter {
  readonly offset: number
  readonly limit: number
}

/** The dead letters with one reason. */
export interface LetterReason {
  readonly reason: string
  readonly count: number
  readonly devices: number
  readonly oldestAt: Micros
  readonly newestAt: Micros
}

/** The devices' records and the log positions they result from: what a shard loads at its start and saves. */
export interface Records {
  /** Takes over these partitions. From then on an earlier owner can neither save nor checkpoint in them, and everything it
   *  has saved is readable here. Rejects with a `STORE_FENCED` fault if a later owner was faster. */
  claim(claims: readonly Claim[]): Promise<void>
  /** Yields every device of these partitions, in batches. */
  load(partitions: readonly Partition[]): AsyncIterable<readonly StoredDevice[]>
  applied(): Positions
  inserted(): Positions
  /** The greatest epoch with which each partition was ever claimed. */
  epochs(): Positions
  /** Saves everything, including records, history, documents, notices and positions, or nothing (R4). Resolves once all of
   *  it would survive a crash and is readable here. May be called again with the same save. Rejects with a `STORE_FENCED`
   *  fault, which must not be retried, if the claims are outdated. */
  save(save: Save): Promise<void>
  checkpoint(checkpoint: Checkpoint): Promise<void>
}

/** Finds devices. All methods but `get` answer from memory. */
export interface Directory {
  get(id: DeviceId): DeviceRecord | undefined
  /** Resolves once this process sees the device as another process saved it, or a later version; after a second in any
   *  case. */
  untilSeen(device: DeviceRecord): Promise<void>
  /** Resolves once this process sees every device that any process saved before the call. Rejects with a fault while that
   *  cannot be determined. */
  catchUp(): Promise<void>
  /** Undefined if this process was up to date with the writes of others a moment ago. Otherwise, for example after a
   *  pause, resolves once it has caught up, or after a second at the latest, so that lists are answered while the store is
   *  away. */
  freshen(): Promise<void> | undefined
  /** Only the fields that filters and scopes need, so that it is cheap enough for every feed event. */
  summary(id: DeviceId): DeviceSummary | undefined
  /** The devices registered as sub-devices of this one, including decommissioned ones. */
  subDevices(id: DeviceId): readonly DeviceId[]
  /** Default order: newest first, then by id. `total` counts the whole filtered set. */
  list(filter: DeviceFilter, page: DevicePageQuery): DevicePage
  /** All devices that match, ordered by id. */
  matching(filter: DeviceFilter): readonly DeviceId[]
  countByStatus(): Readonly<Record<DeviceStatus, number>>
}

export interface DeadLetters {
  /** Newest first. At most `LIMITS.deadLettersMax` letters are kept; the oldest are dropped first. */
  deadLetters(query: DeadLetterQuery): Promise<DeadLetterPage>
  /** Undefined if the letter is not kept. */
  deadLetter(id: string): Promise<DeadLetter | undefined>
  /** Reasons by frequency, the most frequent first. */
  deadLetterReasons(filter: DeadLetterFilter): Promise<readonly LetterReason[]>
}

/** The settled hours whose rollups are outdated because of late points. */
export interface LateHours {
  lateHours(): readonly LateHour[]
  lateHoursOf(deviceId: DeviceId): readonly LateHour[]
  /** Rejects with a `STORE_FENCED` fault if the claims are outdated. */
  clearLate(hours: readonly LateHour[], claims?: readonly Claim[]): Promise<void>
}

/** History rows on their way to ClickHouse. */
export interface Outbox {
  /** The oldest batches: at least one if there is any, otherwise as many as fit these bounds. Where several processes
   *  share the store, only one of them at a time is given batches. */
  outbox(bounds: { readonly rowsMax: number; readonly bytesMax: number }): Promise<readonly OutboxBatch[]>
  /** Removes batches that are in ClickHouse. */
  clearHistory(keys: readonly string[]): Promise<void>
  /** Event time of the oldest waiting row; undefined if none is waiting. */
  oldestHistory(): Promise<Micros | undefined>
  outboxCounts(): OutboxCounts
}

/** Small settings of the service that outlive a restart: the signing secret, the rollup horizon. */
export interface Facts {
  getFact(name: string): string | undefined
  /** Rejects with a `STORE_FENCED` fault if the claims are outdated. */
  putFact(name: string, value: string, claims?: readonly Claim[]): Promise<void>
}

/** A store may be shared by several processes. A process sees its own writes immediately and those of others within a
 *  second while `isUp`. */
export interface Store extends Records, DeadLetters, LateHours, Outbox, Notices, Facts {
  readonly devices: Directory
  readonly documents: Documents
  /** The number of this process. No other process that opened the store has had the same. */
  readonly writer: number
  /** False while writes of other processes may not be visible here. */
  isUp(): boolean
  close(): Promise<void>
}
