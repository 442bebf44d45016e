// Devices that were probably meant by an id that no device has: the one with the fewest typing errors between, and those that
// begin like it.
import { nearestName } from '../../../../schemas/nearest-name.ts'
import { type FleetColumns, STATUS } from './columns.ts'
import { findDevices } from './find-devices.ts'

/** A shorter beginning says nothing about what was meant. */
const BEGINNING_CHARS_MIN = 3

export function nearDevices(id: string, columns: FleetColumns, max: number): readonly string[] {
  const idOf = (row: number) => columns.ids[row] ?? ''
  const isThere = (_: string, row: number) =>
    columns.isAlive[row] === 1 && columns.status[row] !== STATUS.decommissioned
  const nearest = nearestName(id, columns.ids.slice(0, columns.rowsCount).filter(isThere))
  let alike = findDevices(id, columns, max)
  for (let length = id.length - 1; alike.length === 0 && length >= BEGINNING_CHARS_MIN; length--)
    alike = findDevices(id.slice(0, length), columns, max)
  return [...new Set([...(nearest === undefined ? [] : [nearest]), ...alike.map(idOf)])].slice(0, max)
}
