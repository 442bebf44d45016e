// Colours of firmware versions on the map: those that most devices run have one each, all others share one.
import type { FleetColumns } from '../../fleet/columns.ts'
import { type FillName, VERSION_FILLS } from './map-colours.ts'

export interface VersionFill {
  readonly version: string
  readonly count: number
  readonly fill: FillName
}

export interface VersionColouring {
  /** Most devices first. */
  readonly versions: readonly VersionFill[]
  /** The fills by the place of the version among the words of the column; others have none. */
  readonly fillOf: ReadonlyMap<number, FillName>
}

export function versionColouring(columns: FleetColumns, rows: Uint32Array): VersionColouring {
  const counts = new Map<number, number>()
  for (const row of rows) {
    const place = columns.firmware[row] ?? 0
    if (columns.firmwares.at(place) !== '') counts.set(place, (counts.get(place) ?? 0) + 1)
  }
  const most = [...counts].sort(([, a], [, b]) => b - a).slice(0, VERSION_FILLS.length)
  const filled = most.map(([place, count], i) => {
    const fill: FillName = VERSION_FILLS[i] ?? 'none'
    return { place, version: columns.firmwares.at(place), count, fill }
  })
  return { versions: filled, fillOf: new Map(filled.map(({ place, fill }) => [place, fill])) }
}
