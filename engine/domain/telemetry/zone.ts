// Time zones by IANA name, from the runtime's own tables.

/** A period, beginning at `from` (seconds since 1970), in which clocks are `offset` seconds ahead of UTC. */
export interface ZonePeriod {
  readonly from: number
  readonly offset: number
}

const NAME = /^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/
/** Since 1970 no zone has changed its offset twice within seven days, so steps of this length miss no change. */
const LOOK_EVERY_SEC = 6 * 86_400

export function isZone(name: string): boolean {
  if (!NAME.test(name)) return false
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    // The constructor throws for an unknown zone.
    return false
  }
}

/** The periods of [from, to), oldest first. The first one begins at `from`. */
export function zonePeriods(zone: string, from: number, to: number): readonly ZonePeriod[] {
  const offsetAt = offsets(zone)
  const periods: ZonePeriod[] = [{ from, offset: offsetAt(from) }]
  let at = from
  let offset = offsetAt(from)
  while (at < to) {
    const next = Math.min(at + LOOK_EVERY_SEC, to)
    const then = offsetAt(next)
    if (then !== offset) periods.push({ from: changeBetween(offsetAt, at, next), offset: then })
    at = next
    offset = then
  }
  return periods
}

/** Returns the first second with the offset of `to`. */
function changeBetween(offsetAt: (second: number) => number, from: number, to: number): number {
  const after = offsetAt(to)
  let low = from
  let high = to
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle) === after) high = middle
    else low = middle
  }
  return high
}

function offsets(zone: string): (second: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  return (second) => {
    // Examples: `GMT+01:00`, and `GMT` for no offset. Only offsets of the distant past have seconds.
    const [, sign, hours = 0, minutes = 0, seconds = 0] =
      /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(format.format(second * 1000)) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds))
  }
}
