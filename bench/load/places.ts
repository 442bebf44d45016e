import { openFilesMax } from '../../api/open-files.ts'

/** How many devices can be connected beside these others, at most as many as are wanted: the service keeps half of the
 *  files that it may have open for connections of MQTT. */
export function placesFor(wanted: number, others = 0): number {
  return Math.min(wanted, Math.floor(openFilesMax() / 2) - others)
}
