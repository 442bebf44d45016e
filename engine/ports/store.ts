// The store keeps device records with the log positions they follow from, and everything else that must survive a
// restart.
import type { CommandId, DeviceId, Micros, Millis, Partition } from '../../schemas/ids.ts'
import type { DeviceStatus } from '../../schemas/vocabulary.ts'
import type { DeviceRecord } from '../domain/device/record.ts'
import type { LateHour } from '../domain/telemetry/late-hours.ts'
import type { Documents, SavedDocument } from './documents.ts'
import type { WrittenRow } from './history.ts'
import type { Positions } from './log.ts'
import type { Notice, Notices } from './notices.ts'

/** A message that could not be taken, parked with its reason (R10). */
export interface DeadLetter {
  /** `dl_<partition>_<seq>_<index>`: the same message replayed is the same dead letter. */
  readonly id: string
  readonly deviceId: DeviceId
  readonly topic: string
  readonly reason: string
  readonly detail: string
  /** The first bytes of the payload, up to the limit. */
  readonly payload: Uint8Array
  readonly payloadBytes: number
  readonly receivedAt: Micros
}

export type LetterName = Pick<DeadLetter, 'id' | 'deviceId'>

/** Settled hours of a device that late points touched: their rollups must be recomputed from raw. */
export type { LateHour }

/** What a device keeps beside its record and its commands. Most devices lack most of it. */
export const DEVICE_PARTS = ['shadow', 'firmware', 'alerts'] as const
export type DevicePart = (typeof DEVICE_PARTS)[number]

/** A part of a device in the engine's own format, which the store does not read. */
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

/** One owner's right to write a partition. A later owner has a greater epoch. */
export interface Claim {
  readonly partition: Partition
  readonly epoch: number
}

export interface Save {
  /** The writer's claims: if a later owner has claimed one of these partitions since, nothing is saved (R2). Empty where
   *  nobody else can write. */
  readonly claims: readonly Claim[]
  /** The position that `changed` follows from, for each partition of the batch. */
  readonly applied: readonly { readonly partition: Partition; readonly seq: number }[]
  /** Devices that are forgotten: records, parts, commands, vitals, dead letters and late hours go. What else the save has of
   *  them is of later devices with the same ids. */
  readonly gone: readonly DeviceId[]
  readonly changed: readonly DeviceRecord[]
  readonly parts: readonly SavedPart[]
  readonly commands: readonly SavedCommand[]
  readonly deadLetters: readonly DeadLetter[]
  readonly late: readonly LateHour[]
  /** Rows for ClickHouse, kept in the outbox until they are there. */
  readonly history: readonly WrittenRow[]
  readonly documents: readonly SavedDocument[]
  /** Added to the leader's queue. A key that is there already is not added again. */
  readonly notices: readonly Notice[]
  /** Keys of notices that the leader has dealt with. */
  readonly noticesGone: readonly string[]
  /** Dead letters that somebody replayed or discarded. One that is not there is no mistake. */
  readonly lettersGone: readonly LetterName[]
}

/** What a shard saves. Documents and the end of notices and dead letters are the business of others. */
export type ShardSave = Omit<Save, 'claims' | 'documents' | 'noticesGone' | 'lettersGone'>

/** An empty save, to be filled in. */
export const NO_SAVE: Save = {
  claims: [],
  applied: [],
  gone: [],
  changed: [],
  parts: [],
  commands: [],
  deadLetters: [],
  late: [],
  history: [],
  documents: [],
  notices: [],
  noticesGone: [],
  lettersGone: [],
}

/** History rows of one save that are not known to be in ClickHouse. */
export interface OutboxBatch {
  readonly key: string
  readonly rows: readonly WrittenRow[]
}

export interface OutboxCounts {
  readonly rows: number
  /** Rows given up since the start because the outbox was full, the oldest first. */
  readonly dropped: number
}

/** A restart begins here: everything at or below `inserted` is stored as rows and vitals. */
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
  /** Several mean any of them. */
  readonly status?: DeviceStatus | readonly DeviceStatus[] | undefined
  readonly type?: string | undefined
  /** Matches the group and its subtree, or the group alone if `groupExact`. */
  readonly group?: string | undefined
  readonly groupExact?: boolean | undefined
  /** A device must have all of them. */
  readonly tags?: readonly string[] | undefined
  /** The version that a device says it runs; empty for those that have said none. */
  readonly firmwareVersion?: string | undefined
  /** Only sub-devices of this gateway. */
  readonly parentId?: DeviceId | undefined
  /** A prefix of the name or the id, in any letter case. */
  readonly q?: string | undefined
  /** Only devices in these group subtrees: an operator's scope. Undefined means all. */
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

export interface DeviceSummary {
  readonly id: DeviceId
  readonly name: string
  readonly type: string
  readonly status: DeviceStatus
  readonly group: string | undefined
  readonly tags: readonly string[]
}

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
  /** Only those received before this time. */
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

/** The devices' records and the log positions that they follow from: what a shard starts from and saves. */
export interface Records {
  /** Takes these partitions over: an earlier owner can save and checkpoint nothing in them any more, and everything it
   *  has saved is readable here. Rejects with a `STORE_FENCED` fault if a later owner was faster. */
  claim(claims: readonly Claim[]): Promise<void>
  /** Yields every device of these partitions, in batches. */
  load(partitions: readonly Partition[]): AsyncIterable<readonly StoredDevice[]>
  applied(): Positions
  inserted(): Positions
  /** The greatest epoch under which each partition was ever claimed. */
  epochs(): Positions
  /** Saves all of it, records, history, documents, notices and positions included, or nothing (R4). Resolves only once they
   *  would survive a crash; from then on they are readable here. May be called again with the same save. Rejects with a
   *  `STORE_FENCED` fault, which must not be retried, if its claims are outdated. */
  save(save: Save): Promise<void>
  checkpoint(checkpoint: Checkpoint): Promise<void>
}

/** Finds devices. Every question but `get` is answered from memory. */
export interface Directory {
  get(id: DeviceId): DeviceRecord | undefined
  /** Resolves once this process reads the device as another process has saved it, or later; after a second in any
   *  case. */
  known(device: DeviceRecord): Promise<void>
  /** Resolves once every device is found that any process had saved before the call. Rejects with a fault while nobody can
   *  tell. */
  catchUp(): Promise<void>
  /** Undefined if this process knew a moment ago of all that others had saved. Otherwise, as after it stood still, resolves
   *  once it has caught up; after a second in any case, so that lists are answered while the store is away. */
  freshen(): Promise<void> | undefined
  /** The fields that filters and scopes need: cheap enough for every feed event. */
  summary(id: DeviceId): DeviceSummary | undefined
  /** The devices registered as this one's sub-devices, decommissioned ones included. */
  subDevices(id: DeviceId): readonly DeviceId[]
  /** Default order: newest first, then by id. `total` counts the whole filtered set. */
  list(filter: DeviceFilter, page: DevicePageQuery): DevicePage
  /** All devices that match, ordered by id. */
  matching(filter: DeviceFilter): readonly DeviceId[]
  countByStatus(): Readonly<Record<DeviceStatus, number>>
}

export interface DeadLetters {
  /** Newest first. The list keeps at most `LIMITS.deadLettersMax`; the oldest are dropped first. */
  deadLetters(query: DeadLetterQuery): Promise<DeadLetterPage>
  /** Undefined if it is not kept. */
  deadLetter(id: string): Promise<DeadLetter | undefined>
  /** The most frequent reason first. */
  deadLetterReasons(filter: DeadLetterFilter): Promise<readonly LetterReason[]>
}

/** The settled hours whose rollups late points have made outdated. */
export interface LateHours {
  lateHours(): readonly LateHour[]
  lateHoursOf(deviceId: DeviceId): readonly LateHour[]
  /** Rejects with a `STORE_FENCED` fault if the claims are outdated. */
  clearLate(hours: readonly LateHour[], claims?: readonly Claim[]): Promise<void>
}

/** History rows on their way to ClickHouse. */
export interface Outbox {
  /** The oldest batches: at least one if there is any, and no more than fill these bounds. Where several processes share
   *  the store, only one of them is given batches at a time. */
  outbox(bounds: { readonly rowsMax: number; readonly bytesMax: number }): Promise<readonly OutboxBatch[]>
  /** Removes batches that are in ClickHouse. */
  clearHistory(keys: readonly string[]): Promise<void>
  /** When the oldest row that is waiting happened; undefined if none is. */
  oldestHistory(): Promise<Micros | undefined>
  outboxCounts(): OutboxCounts
}

/** Small settings of the service that outlive a restart: the signing secret, the rollup horizon. */
export interface Facts {
  getFact(name: string): string | undefined
  /** Rejects with a `STORE_FENCED` fault if the claims are outdated. */
  putFact(name: string, value: string, claims?: readonly Claim[]): Promise<void>
}

/** Several processes may share a store. A process reads its own writes at once, and those of others within a second while
 *  `isUp`. */
export interface Store extends Records, DeadLetters, LateHours, Outbox, Notices, Facts {
  readonly devices: Directory
  readonly documents: Documents
  /** Number of this process among all that have opened the store, at once or before. */
  readonly writer: number
  /** False while writes of other processes may be missing here. */
  isUp(): boolean
  close(): Promise<void>
}
