// Time zones by IANA name, from the runtime's own tables.

/** A period, beginning at `from` (seconds since 1970), in which clocks are `offset` seconds ahead of UTC. */
export interface ZonePeriod {
  readonly from: number
  readonly offset: number
}

const NAME = /^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/
/** Since 1970 no zone has changed its offset twice within seven days, so steps of this length miss no change. */
const LOOK_EVERY_SEC = 6 * 86_400
/** About eight years. */
const SPAN_SEC = 487 * LOOK_EVERY_SEC
const ZONES_MAX = 1_000
const SPANS_MAX = 16

/**
 * The zones that were asked for. Only the runtime knows their offsets, and it takes about 10 µs for each: looked up
 * again for every request, those of many years would hold up everybody else.
 */
const zones = new Map<string, Zone>()

export function isZone(name: string): boolean {
  if (!NAME.test(name)) return false
  try {
    zoneOf(name)
    return true
  } catch {
    // The zone is unknown.
    return false
  }
}

/** The periods of [from, to), oldest first. The first one begins at `from`. */
export function zonePeriods(name: string, from: number, to: number): readonly ZonePeriod[] {
  const zone = zoneOf(name)
  const periods: ZonePeriod[] = []
  for (let span = Math.floor(from / SPAN_SEC); span * SPAN_SEC < to || periods.length === 0; span++)
    for (const period of zone.periodsIn(span)) {
      if (period.from >= to && periods.length > 0) return periods
      const last = periods.at(-1)
      if (period.from <= from) periods[0] = { from, offset: period.offset }
      else if (period.offset !== last?.offset) periods.push(period)
    }
  return periods
}

function zoneOf(name: string): Zone {
  const known = zones.get(name)
  if (known !== undefined) return known
  const zone = new Zone(name)
  // Names can be written in many ways, such as `europe/berlin`.
  if (zones.size >= ZONES_MAX) zones.clear()
  zones.set(name, zone)
  return zone
}

class Zone {
  readonly #name: string
  readonly #spans = new Map<number, readonly ZonePeriod[]>()

  constructor(name: string) {
    formatOf(name)
    this.#name = name
  }

  /** The periods of a span of years, which are counted from 1970. The first one begins with the span. */
  periodsIn(span: number): readonly ZonePeriod[] {
    let periods = this.#spans.get(span)
    if (periods === undefined) {
      periods = this.#lookUp(span * SPAN_SEC, (span + 1) * SPAN_SEC)
      if (this.#spans.size >= SPANS_MAX) this.#spans.clear()
      this.#spans.set(span, periods)
    }
    return periods
  }

  #lookUp(from: number, to: number): readonly ZonePeriod[] {
    const offsetAt = offsets(this.#name)
    let offset = offsetAt(from)
    const periods = [{ from, offset }]
    for (let at = from; at < to; at += LOOK_EVERY_SEC) {
      const then = offsetAt(at + LOOK_EVERY_SEC)
      if (then !== offset)
        periods.push({ from: changeBetween(offsetAt, at, at + LOOK_EVERY_SEC), offset: then })
      offset = then
    }
    return periods
  }
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

function offsets(name: string): (second: number) => number {
  const format = formatOf(name)
  return (second) => {
    // Examples: `GMT+01:00`, and `GMT` for no offset. Only offsets of the distant past have seconds.
    const [, sign, hours = 0, minutes = 0, seconds = 0] =
      /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(format.format(second * 1000)) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds))
  }
}

/** Throws for an unknown zone. Not kept, because each takes much memory. */
const formatOf = (name: string) =>
  new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
