import { openFilesMax } from '../../api/open-files.ts'

/** How many further devices can be connected besides `others`, up to `wanted`. The service reserves half of the files that
 *  it may open for MQTT connections. */
export function placesFor(wanted: number, others = 0): number {
  return Math.min(wanted, Math.floor(openFilesMax() / 2) - others)
}

/** How many devices can wait for their CONNACK at a time, up to `wanted`. The service reserves a quarter of its files for
 *  connections that are not admitted yet, and closes those beyond. */
export function connectsFor(wanted: number): number {
  return Math.min(wanted, Math.floor(openFilesMax() / 4))
}
