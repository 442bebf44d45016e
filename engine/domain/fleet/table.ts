// The table of the whole fleet on one node. It has a row for each device, and knows when each row last changed.
//
// - A version counts the changes of this table. A row has the versions of three changes: `wholeVersion` of its facts,
//   `liveVersion` also of status, flags and since, `seenVersion` of anything. So wholeVersion ≤ liveVersion ≤ seenVersion.
// FT2. A row's `rev` only grows, whichever shard the row comes from.
// - A row moves if its type, group or tags change. For the latest moves the table remembers what these were before. So
//   clients that had the row in their selection, and only these, can be told that it has left. A client whose version is
//   older than the oldest remembered move has to load everything again.
import type { DeviceId } from '../../../schemas/ids.ts'
import type { FleetPart, FleetRow } from './row.ts'

/** The fields by which rows are filtered and rights are checked. */
export type FleetPlacing = Pick<FleetRow, 'type' | 'group' | 'tags'>

interface Move {
  readonly version: number
  readonly place: number
  readonly before: FleetPlacing
}

export interface FleetTotals {
  readonly messages: number
  readonly points: number
  readonly lagMs: number
}

const ROWS_FIRST = 1_024

export class FleetTable {
  /** Distinguishes this table from those of other nodes and of earlier starts. */
  readonly id: string
  readonly ids: DeviceId[] = []
  /** The row of a removed device is undefined, and its place is not used again. */
  readonly rows: (FleetRow | undefined)[] = []
  revs = new Float64Array(ROWS_FIRST)
  seenAt = new Float64Array(ROWS_FIRST)
  seenVersion = new Float64Array(ROWS_FIRST)
  liveVersion = new Float64Array(ROWS_FIRST)
  wholeVersion = new Float64Array(ROWS_FIRST)
  /** The source that last reported each row. */
  readonly #sources: string[] = []
  readonly #movesMax: number
  readonly #places = new Map<DeviceId, number>()
  readonly #totals = new Map<string, FleetTotals>()
  #moves: Move[] = []
  #oldest = 0
  #version = 0

  constructor(id: string, movesMax: number) {
    this.id = id
    this.#movesMax = movesMax
  }

  get version(): number {
    return this.#version
  }

  get size(): number {
    return this.ids.length
  }

  placeOf(id: DeviceId): number | undefined {
    return this.#places.get(id)
  }

  /** True if the changes since this version are known. */
  reachesBack(version: number): boolean {
    return version >= this.#oldest && version <= this.#version
  }

  /** Returns the places that moved since, each with all of its earlier placings, because a client may have seen any of
   *  them. */
  movedSince(version: number): ReadonlyMap<number, readonly FleetPlacing[]> {
    const moved = new Map<number, FleetPlacing[]>()
    for (let i = this.#moves.length - 1; i >= 0; i--) {
      const move = this.#moves[i]
      if (move === undefined || move.version <= version) break
      const known = moved.get(move.place)
      if (known === undefined) moved.set(move.place, [move.before])
      else known.push(move.before)
    }
    return moved
  }

  /** Returns the places of rows that changed after this version. */
  changedSince(version: number): readonly number[] {
    const changed: number[] = []
    const { seenVersion, size } = this
    for (let place = 0; place < size; place++) if ((seenVersion[place] ?? 0) > version) changed.push(place)
    return changed
  }

  totals(): FleetTotals {
    let [messages, points, lagMs] = [0, 0, 0]
    for (const each of this.#totals.values()) {
      messages += each.messages
      points += each.points
      lagMs = Math.max(lagMs, each.lagMs)
    }
    return { messages, points, lagMs }
  }

  /** Takes the answers of all shards. Returns false if nothing has changed. */
  applyParts(parts: readonly FleetPart[]): boolean {
    const next = this.#version + 1
    let isChanged = false
    for (const part of parts) if (this.#applyPart(part, next)) isChanged = true
    if (parts.some(({ isWhole }) => isWhole) && this.#dropMissing(parts, next)) isChanged = true
    if (isChanged) this.#version = next
    this.#trim()
    this.#totals.clear()
    for (const { source, messages, points, lagMs } of parts)
      this.#totals.set(source, { messages, points, lagMs })
    return isChanged
  }

  #applyPart({ source, rows, sightings, gone }: FleetPart, version: number): boolean {
    let isChanged = false
    for (const id of gone) if (this.#drop(this.#places.get(id), version)) isChanged = true
    rows.id.forEach((id, i) => {
      const sighting = { id, rev: rows.rev[i] ?? 0, seenAt: rows.seenAt[i] ?? 0 }
      if (this.#applyRow({ ...sighting, row: rowAt(rows, i) }, version)) isChanged = true
      this.#sources[this.#places.get(id) ?? 0] = source
    })
    sightings.id.forEach((id, i) => {
      const place = this.#places.get(id)
      const seenAt = sightings.seenAt[i] ?? 0
      if (place === undefined || this.rows[place] === undefined || this.seenAt[place] === seenAt) return
      this.#touch(place, { seenAt, rev: sightings.rev[i] ?? 0 }, version)
      isChanged = true
    })
    return isChanged
  }

  #applyRow(
    { id, rev, seenAt, row }: { id: DeviceId; rev: number; seenAt: number; row: FleetRow },
    version: number,
  ): boolean {
    const known = this.#places.get(id)
    const place = known ?? this.#add(id, row)
    const before = this.rows[place] ?? row
    const isWhole = this.rows[place] === undefined || known === undefined || !haveSameFacts(before, row)
    const isLive =
      isWhole || before.status !== row.status || before.flags !== row.flags || before.since !== row.since
    // A row whose load alone has changed is replaced but does not count as changed, because clients get no loads.
    this.rows[place] = row
    if (!isLive && this.seenAt[place] === seenAt) return false
    if (known !== undefined && !isSamePlacing(before, row)) this.#moved(place, before, version)
    this.#touch(place, { seenAt, rev }, version)
    if (isLive) this.liveVersion[place] = version
    if (isWhole) this.wholeVersion[place] = version
    return true
  }

  /** Drops devices that are missing in a complete answer of their shard, or whose shard is gone. */
  #dropMissing(parts: readonly FleetPart[], version: number): boolean {
    const sources = new Set(parts.map(({ source }) => source))
    const reported = new Map(
      parts.filter(({ isWhole }) => isWhole).map(({ source, rows }) => [source, new Set(rows.id)]),
    )
    let isChanged = false
    this.ids.forEach((id, place) => {
      const source = this.#sources[place] ?? ''
      const isReported = sources.has(source) && reported.get(source)?.has(id) !== false
      if (!isReported && this.#drop(place, version)) isChanged = true
    })
    return isChanged
  }

  #drop(place: number | undefined, version: number): boolean {
    const before = place === undefined ? undefined : this.rows[place]
    if (place === undefined || before === undefined) return false
    this.#moved(place, before, version)
    this.rows[place] = undefined
    this.#touch(place, { seenAt: 0, rev: 0 }, version)
    this.liveVersion[place] = version
    this.wholeVersion[place] = version
    return true
  }

  #moved(place: number, { type, group, tags }: FleetPlacing, version: number): void {
    this.#moves.push({ version, place, before: { type, group, tags } })
  }

  #touch(place: number, { seenAt, rev }: { seenAt: number; rev: number }, version: number): void {
    this.revs[place] = Math.max(rev, (this.revs[place] ?? 0) + 1) // by FT2
    this.seenAt[place] = seenAt
    this.seenVersion[place] = version
  }

  #add(id: DeviceId, row: FleetRow): number {
    const place = this.ids.length
    this.#places.set(id, place)
    this.ids.push(id)
    this.rows.push(row)
    if (place < this.revs.length) return place
    this.revs = grown(this.revs)
    this.seenAt = grown(this.seenAt)
    this.seenVersion = grown(this.seenVersion)
    this.liveVersion = grown(this.liveVersion)
    this.wholeVersion = grown(this.wholeVersion)
    return place
  }

  #trim(): void {
    const tooMany = this.#moves.length - this.#movesMax
    if (tooMany <= 0) return
    this.#oldest = this.#moves[tooMany - 1]?.version ?? this.#version
    this.#moves = this.#moves.slice(tooMany)
  }
}

function rowAt(rows: FleetPart['rows'], i: number): FleetRow {
  return {
    // All columns of an answer have the same length.
    name: rows.name[i] as string,
    type: rows.type[i] as string,
    group: rows.group[i],
    tags: rows.tags[i] as readonly string[],
    parentId: rows.parentId[i],
    firmware: rows.firmware[i],
    status: rows.status[i] as FleetRow['status'],
    flags: rows.flags[i] as number,
    since: rows.since[i] as FleetRow['since'],
    load: rows.load[i],
  }
}

function haveSameFacts(a: FleetRow, b: FleetRow): boolean {
  return a.name === b.name && a.parentId === b.parentId && a.firmware === b.firmware && isSamePlacing(a, b)
}

function isSamePlacing(a: FleetPlacing, b: FleetPlacing): boolean {
  return (
    a.type === b.type &&
    a.group === b.group &&
    a.tags.length === b.tags.length &&
    a.tags.every((tag, i) => tag === b.tags[i])
  )
}

function grown(values: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(values.length * 2)
  larger.set(values)
  return larger
}
