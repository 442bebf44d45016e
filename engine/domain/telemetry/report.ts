// Stores a telemetry message in the columns and in the device's snapshot. This is the hot path of a shard.
//
// A refused message changes nothing, because it is refused before the first change.
// T2. A payload that matches a shape gives the same result as if it were parsed, bit for bit.
import { Micros } from '../../../schemas/ids.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Columns } from './columns.ts'
import { isFarOff } from './event-time.ts'
import { type Latest, update } from './latest.ts'
import { type About, type ParsedPayload, parsePayload, type Report } from './payload.ts'
import type { TelemetryRefusal } from './refusal.ts'
import { matches, type Shape } from './shape.ts'

const HOUR_SEC = 3_600
const HOUR_MICROS = HOUR_SEC * 1_000_000

export interface StoredReport {
  readonly kind: 'stored'
  readonly points: number
  readonly texts: number
  /** The newest event time, or the receive time if nothing was stored. */
  readonly at: Micros
  /** The oldest event time, which shows whether a settled hour is affected. */
  readonly oldest: Micros
  /** The hours of the event times of a batch, in seconds since 1970. Undefined if all are in the hour of `oldest`. */
  readonly hours: readonly number[] | undefined
  /** True if a far-off timestamp was replaced by the receive time. */
  readonly adjusted: boolean
  /** The number of fields left out because the device already has as many metrics or long texts as allowed. */
  readonly dropped: number
  readonly diagnostics: Json | undefined
  /** The shape that the message matched. The values are in `slotValues` of the columns' shapes until the next message. */
  readonly shape: Shape | undefined
  /** The reports of a message that matched no shape, otherwise empty. */
  readonly reports: readonly Report[]
}

export type ReportOutcome =
  | StoredReport
  /** The device answers a command, and nothing is stored. */
  | { readonly kind: 'ack'; readonly ack: JsonObject }
  | TelemetryRefusal

export function report(payload: Uint8Array, about: About, latest: Latest, columns: Columns): ReportOutcome {
  const stored = reportShaped(payload, about, latest, columns)
  if (stored !== undefined) return stored
  const parsed = parsePayload(payload, about)
  if (parsed.kind !== 'reports') return parsed
  const only = parsed.reports.length === 1 ? parsed.reports[0] : undefined
  if (only !== undefined && columns.shapes.learn(payload, about.name, only.fields)) {
    // With this second match the device has its shape from its first message on.
    const shaped = reportShaped(payload, about, latest, columns)
    if (shaped !== undefined) return shaped
  }
  return store(parsed, about, latest, columns)
}

function store(
  parsed: ParsedPayload & { kind: 'reports' },
  about: About,
  latest: Latest,
  columns: Columns,
): StoredReport {
  const { version, receivedAt } = about
  let points = 0
  let texts = 0
  let dropped = 0
  for (const { at, fields } of parsed.reports) {
    dropped += latest.merge(fields, { at, version })
    const added = columns.addFields(fields, about, at)
    points += added.points
    texts += added.texts
  }
  const { adjusted, diagnostics } = parsed
  const times = parsed.reports.length > 0 ? parsed.reports.map((one) => one.at) : [receivedAt]
  const at = Micros(Math.max(...times))
  const oldest = Micros(Math.min(...times))
  const hours = times.length > 1 ? [...new Set(times.map(hourOf))] : undefined
  return {
    kind: 'stored',
    points,
    texts,
    at,
    oldest,
    hours,
    adjusted,
    dropped,
    diagnostics,
    shape: undefined,
    reports: parsed.reports,
  }
}

function hourOf(at: Micros): number {
  return Math.floor(at / HOUR_MICROS) * HOUR_SEC
}

function reportShaped(
  payload: Uint8Array,
  about: About,
  latest: Latest,
  columns: Columns,
): StoredReport | undefined {
  const { shapes } = columns
  const { slotValues } = shapes
  let part = latest.parts
  while (part !== undefined && !(part.shape.name === about.name && matches(part.shape, payload, slotValues)))
    part = part.next
  const shape = part?.shape ?? shapes.find(payload, about.name)
  if (shape === undefined) return undefined

  const { receivedAt, version } = about
  const adjusted = isFarOff(slotValues.time, receivedAt)
  const at = adjusted || Number.isNaN(slotValues.time) ? receivedAt : Micros(slotValues.time)
  const age = { at, version }
  if (part !== undefined) update(part, slotValues, age)
  else if (!latest.add(shape, slotValues, age)) return undefined
  columns.addShaped(shape, slotValues, about, at)
  const points = shape.pointMetrics.length
  const texts = shape.textMetrics.length
  return {
    kind: 'stored',
    points,
    texts,
    at,
    oldest: at,
    hours: undefined,
    adjusted,
    dropped: 0,
    diagnostics: undefined,
    shape,
    reports: NO_REPORTS,
  }
}

const NO_REPORTS: readonly Report[] = []
