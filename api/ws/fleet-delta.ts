// Encodes changes of the fleet's table as frames: columns, in pieces that a client can process at once.
//
// - A row's delta has every column that changed since `since`, with its latest value. So of two deltas of a row, the one
//   with the greater `rev` contains everything in the other one, and their order does not matter.
import { chunks } from '../../engine/domain/chunks.ts'
import type { FleetPlacing, FleetTable } from '../../engine/ports/fleet.ts'
import { DEVICE_STATUSES, type DeviceStatus } from '../../schemas/vocabulary.ts'
import type { FleetDelta } from '../../schemas/ws.ts'

/** A frame without its head, and the rows it covers. */
export interface DeltaPiece {
  readonly data: string
  readonly places: readonly number[]
}

export interface DeltaRequest {
  readonly table: FleetTable
  /** Rows that are or were visible. */
  readonly places: readonly number[]
  readonly fits: (row: FleetPlacing, place: number) => boolean
  readonly since: number
  readonly devicesMax: number
}

const STATUS_PLACES = new Map<DeviceStatus, number>(DEVICE_STATUSES.map((status, i) => [status, i]))

type Detail = 'seen' | 'live' | 'whole'

export function toDeltaPieces({
  table,
  places,
  fits,
  since,
  devicesMax,
}: DeltaRequest): readonly DeltaPiece[] {
  const byDetail: Record<Detail, number[]> = { whole: [], live: [], seen: [] }
  const removed: number[] = []
  for (const place of places) {
    const row = table.rows[place]
    if (row !== undefined && fits(row, place)) byDetail[detailOf(table, place, since)].push(place)
    else removed.push(place)
  }
  const pieces: DeltaPiece[] = []
  for (const chunk of chunks(removed, devicesMax)) pieces.push(toPiece(removalOf(table, chunk), chunk))
  for (const detail of ['whole', 'live', 'seen'] as const)
    for (const chunk of chunks(byDetail[detail], devicesMax))
      pieces.push(toPiece(deltaOf(table, chunk, detail), chunk))
  return pieces
}

function toPiece(delta: FleetDelta, places: readonly number[]): DeltaPiece {
  return { data: JSON.stringify(delta), places }
}

function removalOf(table: FleetTable, places: readonly number[]): FleetDelta {
  return {
    device_id: [],
    rev: [],
    removed: places.map((place) => table.ids[place] ?? ''),
    removed_rev: places.map((place) => table.revs[place] ?? 0),
  }
}

/** The smallest set of columns that covers a row's changes. */
function detailOf({ wholeVersion, liveVersion }: FleetTable, place: number, since: number): Detail {
  if ((wholeVersion[place] ?? 0) > since) return 'whole'
  return (liveVersion[place] ?? 0) > since ? 'live' : 'seen'
}

function deltaOf(table: FleetTable, places: readonly number[], detail: Detail): FleetDelta {
  const rows = places.flatMap((place) => table.rows[place] ?? [])
  const seen = {
    device_id: places.map((place) => table.ids[place] ?? ''),
    rev: places.map((place) => table.revs[place] ?? 0),
    last_seen_ms: places.map((place) => table.seenAt[place] || null),
  }
  if (detail === 'seen') return seen
  const live = {
    ...seen,
    status: rows.map(({ status }) => STATUS_PLACES.get(status) ?? 0),
    flags: rows.map(({ flags }) => flags),
    since_ms: rows.map(({ since }) => since),
  }
  if (detail === 'live') return live
  return {
    ...live,
    name: rows.map(({ name }) => name),
    type: rows.map(({ type }) => type),
    group: rows.map(({ group }) => group ?? null),
    tags: rows.map(({ tags }) => tags),
    parent_id: rows.map(({ parentId }) => parentId ?? null),
    firmware: rows.map(({ firmware }) => firmware ?? null),
  }
}
