// The local index: one row for every device that the person may see, as columns.
//
// - A row keeps its place as long as its device is there; the place of a removed one is used again.
// C2. A delta counts if its `rev` is greater than that of the row, so it does not matter whether the index was read before
//     or after it was sent.
// - `namesVersion` grows when a device comes, goes or is renamed; `version` grows with every change.
import type { FleetIndex } from '../../../../schemas/fleet.ts'
import { DEVICE_STATUSES, type DeviceStatus } from '../../../../schemas/vocabulary.ts'
import type { FleetDelta } from '../../../../schemas/ws.ts'
import { WordList } from './word-list.ts'

/** The bits of `flags`, see `FLEET_FLAGS` of the schemas, which would bring their validator along. */
export const FLAG = { connected: 1, flapping: 2, outOfSync: 4, warning: 8, critical: 16, held: 32 } as const

/** The same as in deltas: places in the vocabulary. */
export const STATUS = {
  provisioning: 0,
  online: 1,
  offline: 2,
  error: 3,
  maintenance: 4,
  decommissioned: 5,
} as const satisfies Readonly<Record<DeviceStatus, number>>

/** The vocabulary, for looking up words that come from outside. */
export const STATUS_WORDS: readonly string[] = DEVICE_STATUSES

const ROWS_FIRST = 1024
const NO_TAGS: readonly number[] = []

export class FleetColumns {
  readonly types = new WordList()
  readonly groups = new WordList()
  readonly tagWords = new WordList()
  readonly firmwares = new WordList()
  ids: string[] = []
  names: string[] = []
  /** Id and name in lower case, for searching. */
  texts: string[] = []
  parents: string[] = []
  tags: (readonly number[])[] = []
  isAlive = new Uint8Array(ROWS_FIRST)
  status = new Uint8Array(ROWS_FIRST)
  flags = new Uint8Array(ROWS_FIRST)
  type = new Uint16Array(ROWS_FIRST)
  group = new Uint16Array(ROWS_FIRST)
  firmware = new Uint16Array(ROWS_FIRST)
  rev = new Float64Array(ROWS_FIRST)
  /** Milliseconds since 1970; 0 if never. */
  seen = new Float64Array(ROWS_FIRST)
  since = new Float64Array(ROWS_FIRST)
  version = 0
  namesVersion = 0
  /** The `rev` at which each name was told. */
  #namedAt = new Float64Array(ROWS_FIRST)
  readonly #rows = new Map<string, number>()
  readonly #free: number[] = []

  /** Rows in use, and those of removed devices. */
  get rowsCount(): number {
    return this.ids.length
  }

  get size(): number {
    return this.#rows.size
  }

  rowOf(id: string): number | undefined {
    return this.#rows.get(id)
  }

  statusAt(row: number): DeviceStatus {
    return DEVICE_STATUSES[this.status[row] ?? 0] ?? 'provisioning'
  }

  tagsAt(row: number): readonly string[] {
    return (this.tags[row] ?? NO_TAGS).map((place) => this.tagWords.at(place))
  }

  /** Takes in an index, or what has changed since an earlier one. A whole index also tells which devices are gone. */
  load(index: FleetIndex): void {
    const { columns } = index
    const types = index.types.map((word) => this.types.placeOf(word))
    const groups = index.groups.map((word) => this.groups.placeOf(word))
    const tags = index.tags.map((word) => this.tagWords.placeOf(word))
    const firmwares = index.firmware.map((word) => this.firmwares.placeOf(word))
    const statuses = index.statuses.map((word) => STATUS_WORDS.indexOf(word))
    if (index.removed === undefined && this.size > 0) this.#keepOnly(new Set(columns.device_id))
    for (const id of index.removed ?? []) this.#remove(id)
    columns.device_id.forEach((id, i) => {
      const rev = columns.rev[i] ?? 0
      const row = this.#rowFor(id)
      if (rev <= (this.rev[row] ?? 0)) return // by C2
      this.rev[row] = rev
      this.#rename(
        row,
        columns.name[i] ?? (this.names[row] || id),
        columns.name.length === 0 ? undefined : rev,
      )
      this.status[row] = Math.max(0, statuses[columns.status[i] ?? 0] ?? 0)
      this.type[row] = types[columns.type[i] ?? 0] ?? 0
      this.group[row] = placeIn(groups, columns.group[i])
      this.firmware[row] = placeIn(firmwares, columns.firmware[i])
      this.tags[row] = (columns.tags[i] ?? []).map((place) => tags[place] ?? 0)
      this.parents[row] = columns.parent_id[i] ?? ''
      this.flags[row] = columns.flags[i] ?? 0
      this.seen[row] = columns.last_seen_ms[i] ?? 0
      this.since[row] = columns.since_ms[i] ?? 0
    })
    this.version += 1
  }

  /** Takes in the names that an index was read without. A name that a delta has told since is newer. */
  loadNames({ columns: { device_id, name, rev } }: FleetIndex): void {
    device_id.forEach((id, i) => {
      const row = this.#rows.get(id)
      const at = rev[i] ?? 0
      if (row !== undefined && at >= (this.#namedAt[row] ?? 0)) this.#rename(row, name[i] ?? id, at)
    })
    this.version += 1
  }

  apply(delta: FleetDelta): void {
    delta.removed?.forEach((id, i) => {
      const wentAt = delta.removed_rev?.[i] ?? Number.POSITIVE_INFINITY
      // By C2: it may have come back in an index that was read since.
      if ((this.rev[this.#rows.get(id) ?? -1] ?? 0) <= wentAt) this.#remove(id)
    })
    delta.device_id.forEach((id, i) => {
      // A frame that brings values only names devices that may not be in the index.
      if (!this.#rows.has(id) && delta.name === undefined) return
      const row = this.#rowFor(id)
      const rev = delta.rev[i] ?? 0
      if (rev <= (this.rev[row] ?? 0)) return // by C2
      this.rev[row] = rev
      this.#patch(row, delta, i)
    })
    this.version += 1
  }

  #patch(row: number, delta: FleetDelta, i: number): void {
    const { status, flags, since_ms, last_seen_ms, name, type, group, tags, parent_id, firmware } = delta
    if (status !== undefined) this.status[row] = status[i] ?? 0
    if (flags !== undefined) this.flags[row] = flags[i] ?? 0
    if (since_ms !== undefined) this.since[row] = since_ms[i] ?? 0
    if (last_seen_ms !== undefined) this.seen[row] = last_seen_ms[i] ?? 0
    if (name !== undefined) this.#rename(row, name[i] ?? this.ids[row] ?? '', this.rev[row])
    if (type !== undefined) this.type[row] = this.types.placeOf(type[i])
    if (group !== undefined) this.group[row] = this.groups.placeOf(group[i])
    if (firmware !== undefined) this.firmware[row] = this.firmwares.placeOf(firmware[i])
    if (parent_id !== undefined) this.parents[row] = parent_id[i] ?? ''
    if (tags !== undefined) this.tags[row] = (tags[i] ?? []).map((tag) => this.tagWords.placeOf(tag))
  }

  /** `at` is the `rev` at which the service told it; undefined if it stands in for a name that is still to come. */
  #rename(row: number, name: string, at: number | undefined): void {
    if (at !== undefined) this.#namedAt[row] = at
    if (this.names[row] === name) return
    this.names[row] = name
    this.texts[row] = `${this.ids[row]}\n${name}`.toLowerCase()
    this.namesVersion += 1
  }

  #rowFor(id: string): number {
    const known = this.#rows.get(id)
    if (known !== undefined) return known
    const row = this.#free.pop() ?? this.ids.length
    if (row >= this.isAlive.length) this.#grow()
    this.#rows.set(id, row)
    this.ids[row] = id
    this.names[row] = ''
    this.texts[row] = id.toLowerCase()
    this.parents[row] = ''
    this.tags[row] = NO_TAGS
    this.isAlive[row] = 1
    // A row of an earlier device may have had this place.
    for (const column of [this.status, this.flags, this.type, this.group, this.firmware]) column[row] = 0
    for (const column of [this.seen, this.since]) column[row] = 0
    for (const column of [this.rev, this.#namedAt]) column[row] = -1
    this.namesVersion += 1
    return row
  }

  #remove(id: string): void {
    const row = this.#rows.get(id)
    if (row === undefined) return
    this.#rows.delete(id)
    this.isAlive[row] = 0
    this.#free.push(row)
    this.namesVersion += 1
  }

  #keepOnly(ids: ReadonlySet<string>): void {
    for (const id of [...this.#rows.keys()]) if (!ids.has(id)) this.#remove(id)
    // Another service or another start of it counts its changes anew.
    this.rev.fill(-1)
    this.#namedAt.fill(-1)
  }

  #grow(): void {
    const size = this.isAlive.length * 2
    this.isAlive = grown(this.isAlive, new Uint8Array(size))
    this.status = grown(this.status, new Uint8Array(size))
    this.flags = grown(this.flags, new Uint8Array(size))
    this.type = grown(this.type, new Uint16Array(size))
    this.group = grown(this.group, new Uint16Array(size))
    this.firmware = grown(this.firmware, new Uint16Array(size))
    this.#namedAt = grown(this.#namedAt, new Float64Array(size))
    this.rev = grown(this.rev, new Float64Array(size))
    this.seen = grown(this.seen, new Float64Array(size))
    this.since = grown(this.since, new Float64Array(size))
  }
}

function placeIn(places: readonly number[], place: number | null | undefined): number {
  return place === null || place === undefined ? 0 : (places[place] ?? 0)
}

function grown<Column extends Uint8Array | Uint16Array | Float64Array>(from: Column, to: Column): Column {
  to.set(from)
  return to
}
