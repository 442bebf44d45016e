// The store: device records with the log position they follow from, and what must survive beside them.
import type { CommandId, DeviceId, Micros, Partition } from '../../schemas/ids.ts'
import type { DeviceStatus } from '../../schemas/vocabulary.ts'
import type { DeviceRecord } from '../domain/device/record.ts'
import type { WrittenRow } from './history.ts'
import type { Positions } from './log.ts'

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

/** A settled hour of a device that late points touched: its rollups must be recomputed from raw. */
export interface LateHour {
  readonly deviceId: DeviceId
  /** Seconds since 1970, a multiple of 3600. */
  readonly hour: number
}

/** What the engine keeps of a shadow or a command, in its own format. */
export interface SavedShadow {
  readonly deviceId: DeviceId
  readonly bytes: Uint8Array
}
export interface SavedCommand {
  readonly deviceId: DeviceId
  readonly commandId: CommandId
  /** Undefined: it is not kept any more. */
  readonly bytes: Uint8Array | undefined
}

/** Whose partition it is, and since when: a greater epoch is a later owner's. */
export interface Claim {
  readonly partition: Partition
  readonly epoch: number
}

export interface Save {
  /** Of the writer: if a later owner has claimed one of these since, nothing is saved (R2). Empty where nobody else
   *  can write. */
  readonly claims: readonly Claim[]
  /** The position that `changed` follows from, for each partition of the batch. */
  readonly applied: readonly { readonly partition: Partition; readonly seq: number }[]
  readonly changed: readonly DeviceRecord[]
  readonly shadows: readonly SavedShadow[]
  readonly commands: readonly SavedCommand[]
  readonly deadLetters: readonly DeadLetter[]
  readonly late: readonly LateHour[]
  /** What happened, for ClickHouse: kept in the outbox until it is there. */
  readonly history: readonly WrittenRow[]
}

/** A save of nothing, to be filled in. */
export const NO_SAVE: Save = {
  claims: [],
  applied: [],
  changed: [],
  shadows: [],
  commands: [],
  deadLetters: [],
  late: [],
  history: [],
}

/** History rows of one save that are not known to be in ClickHouse. */
export interface OutboxBatch {
  readonly key: string
  readonly rows: readonly WrittenRow[]
}

export interface OutboxCounts {
  readonly rows: number
  /** Since the start: the oldest, given up because the outbox was full. */
  readonly dropped: number
}

/** What a restart starts from: everything at or below `inserted` is stored as rows and vitals. */
export interface Checkpoint {
  /** As of a save. */
  readonly claims: readonly Claim[]
  readonly inserted: readonly { readonly partition: Partition; readonly seq: number }[]
  readonly vitals: readonly { readonly deviceId: DeviceId; readonly bytes: Uint8Array }[]
}

export interface StoredDevice {
  readonly device: DeviceRecord
  readonly vitals: Uint8Array | undefined
  readonly shadow: Uint8Array | undefined
  /** In any order. */
  readonly commands: readonly Uint8Array[]
}

export interface DeviceFilter {
  readonly status?: DeviceStatus | undefined
  readonly type?: string | undefined
  /** The group and its subtree; with `groupExact` the group alone. */
  readonly group?: string | undefined
  readonly groupExact?: boolean | undefined
  /** All of them. */
  readonly tags?: readonly string[] | undefined
  /** Its sub-devices. */
  readonly parentId?: DeviceId | undefined
  /** A prefix of the name or the id, in any letter case. */
  readonly q?: string | undefined
  /** Only devices in these group subtrees: an operator's scope. Undefined is everything. */
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

/** Several processes may share a store. What a process has written it reads at once; what others have written, within a
 *  second while `isUp`. */
export interface Store {
  /** False while what others wrote may be missing here. */
  isUp(): boolean
  /** From now on an earlier owner can save and checkpoint nothing in these partitions, and all that it has is found here.
   *  Rejects with a `STORE_FENCED` fault if a later owner was faster. */
  claim(claims: readonly Claim[]): Promise<void>
  /** Every device of these partitions, in batches. */
  load(partitions: readonly Partition[]): AsyncIterable<readonly StoredDevice[]>
  applied(): Positions
  inserted(): Positions
  /** All or nothing: records, shadows, commands, dead letters, history and positions (R4). Resolves only once it would survive a crash.
   *  Records saved are visible to `get` and `list` from then on. May be called again with the same save.
   *  Rejects with a `STORE_FENCED` fault, not to be retried, if its claims are outdated. */
  save(save: Save): Promise<void>
  checkpoint(checkpoint: Checkpoint): Promise<void>
  get(id: DeviceId): DeviceRecord | undefined
  /** Resolves once the device is read here as another process has saved it, or later; after a second in any case. */
  known(device: DeviceRecord): Promise<void>
  /** What filters and scopes need of a saved device, from memory: cheap enough for every feed event. */
  summary(id: DeviceId): DeviceSummary | undefined
  /** The devices registered as this one's sub-devices, whatever became of them. */
  subDevices(id: DeviceId): readonly DeviceId[]
  /** Default order: newest first, then id. `total` counts the whole filtered set. */
  list(
    filter: DeviceFilter,
    page: {
      readonly offset: number
      readonly limit: number
      readonly sort?: DeviceSort
      readonly descending?: boolean
    },
  ): DevicePage
  /** All that match, by id. */
  matching(filter: DeviceFilter): readonly DeviceId[]
  countByStatus(): Readonly<Record<DeviceStatus, number>>
  /** Newest first. The list keeps at most `LIMITS.deadLettersMax`; the oldest go first. */
  deadLetters(page: {
    readonly offset: number
    readonly limit: number
    readonly deviceId?: DeviceId | undefined
  }): Promise<DeadLetterPage>
  lateHours(): readonly LateHour[]
  lateHoursOf(deviceId: DeviceId): readonly number[]
  clearLate(hours: readonly LateHour[]): Promise<void>
  /** The oldest saves' history first: at least one batch if there is any, and no more than fill these bounds. Of several
   *  processes one at a time is given any. */
  outbox(bounds: { readonly rowsMax: number; readonly bytesMax: number }): Promise<readonly OutboxBatch[]>
  /** These batches are in ClickHouse. */
  clearHistory(keys: readonly string[]): Promise<void>
  outboxCounts(): OutboxCounts
  /** Small settings of the service that outlive a restart: the signing secret, the rollup horizon. */
  getFact(name: string): string | undefined
  putFact(name: string, value: string): Promise<void>
  close(): Promise<void>
}
