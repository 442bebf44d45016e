// Marks settled hours into which late points fell, so that their rollups are computed again. Beyond a bound, the marks of
// a device are replaced by one that spans them all. Some hours are then computed needlessly, but a device that sends many
// old points cannot make many marks.
import type { DeviceId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'

const HOUR_SEC = 3_600

export interface LateHour {
  readonly deviceId: DeviceId
  /** Seconds since 1970, a multiple of 3600. */
  readonly hour: number
  /** The end of a mark that spans several hours, in seconds since 1970. */
  readonly until?: number | undefined
}

export function endOf({ hour, until = hour + HOUR_SEC }: LateHour): number {
  return until
}

/** Returns the marks to add, and the known ones that these replace. A mark is added even if it is known, because the node
 *  that computes rollups may be taking the known one at this moment. */
export function widened(
  late: readonly LateHour[],
  knownOf: (deviceId: DeviceId) => readonly LateHour[],
): { readonly added: readonly LateHour[]; readonly needless: readonly LateHour[] } {
  const byDevice = new Map<DeviceId, LateHour[]>()
  for (const mark of late) {
    const own = byDevice.get(mark.deviceId)
    if (own === undefined) byDevice.set(mark.deviceId, [mark])
    else own.push(mark)
  }
  const added: LateHour[] = []
  const needless: LateHour[] = []
  for (const [deviceId, fresh] of byDevice) {
    const marks = new Map([...knownOf(deviceId), ...fresh].map((mark) => [keyOf(mark), mark]))
    if (marks.size <= LIMITS.lateMarksPerDeviceMax) {
      added.push(...fresh)
      continue
    }
    const all = [...marks.values()]
    const span = {
      deviceId,
      hour: all.reduce((least, { hour }) => Math.min(least, hour), Number.POSITIVE_INFINITY),
      until: all.reduce((greatest, mark) => Math.max(greatest, endOf(mark)), 0),
    }
    added.push(span)
    needless.push(...knownOf(deviceId).filter((mark) => keyOf(mark) !== keyOf(span)))
  }
  return { added, needless }
}

/** Joins marks of a device that overlap, so that each hour is in one mark: a span may cover hours that are also marked on
 *  their own, because a mark does not know what is marked already. */
export function disjoint(late: readonly LateHour[]): readonly LateHour[] {
  const joined = new Map<DeviceId, LateHour>()
  const done: LateHour[] = []
  for (const mark of [...late].sort((a, b) => a.hour - b.hour)) {
    const { deviceId } = mark
    const before = joined.get(deviceId)
    if (before === undefined || endOf(before) <= mark.hour) {
      if (before !== undefined) done.push(before)
      joined.set(deviceId, mark)
    } else if (endOf(before) < endOf(mark)) joined.set(deviceId, { ...before, until: endOf(mark) })
  }
  return [...done, ...joined.values()]
}

/** Returns the hours of these marks that overlap [from, to), which are milliseconds. Each hour is returned once. */
export function hoursWithin(
  marks: readonly LateHour[],
  { from, to }: { readonly from: number; readonly to: number },
): readonly number[] {
  const least = Math.floor(from / 1000 / HOUR_SEC) * HOUR_SEC
  const hours: number[] = []
  let at = least
  for (const mark of [...marks].sort((a, b) => a.hour - b.hour)) {
    const end = Math.min(endOf(mark), to / 1000)
    for (at = Math.max(at, mark.hour); at < end; at += HOUR_SEC) hours.push(at)
  }
  return hours
}

function keyOf({ hour, until }: LateHour): string {
  return `${hour}-${until ?? ''}`
}
