// /telemetry: the latest of a device, and its past in buckets.
import { LIMITS } from '../../engine/limits.ts'
import type { Bucket } from '../../engine/ports/telemetry.ts'
import { Millis, toIso } from '../../schemas/ids.ts'
import { getTelemetry, getTelemetryHistory } from '../../schemas/operations/telemetry.ts'
import { INTERVAL_SECONDS, INTERVALS, type Interval } from '../../schemas/vocabulary.ts'
import { answer, invalid, type Refusal } from '../http/answer.ts'
import { parseSpan } from '../http/instant.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { noSuchDevice, visibleId } from './device-answers.ts'

const HOUR_MS = 3_600_000

export function telemetryRoutes({ engine, clock }: Services): readonly Route[] {
  return [
    route(getTelemetry, async ({ params, user }) => {
      const deviceId = visibleId(engine, params.device_id, user)
      const snapshot = deviceId === undefined ? undefined : await engine.snapshot(deviceId)
      if (snapshot === undefined) return noSuchDevice()
      const timestamp = snapshot.timestamp === undefined ? null : toIso(snapshot.timestamp)
      return answer(200, { device_id: deviceId, timestamp, data: snapshot.data })
    }),
    route(getTelemetryHistory, async ({ params, query, user }) => {
      const deviceId = visibleId(engine, params.device_id, user)
      if (deviceId === undefined) return noSuchDevice()
      const { metric, interval = '1m' } = query
      const range = parseRange(query, clock.now())
      if (range.kind === 'refused') return range
      const refusal = tooManyBuckets(range, interval)
      if (refusal !== undefined) return refusal
      const buckets = await engine.buckets({ deviceId, metric, from: range.from, to: range.to, interval })
      return answer(200, { device_id: deviceId, metric, interval, data: buckets.map(bucketBody) })
    }),
  ]
}

interface Range {
  readonly kind: 'range'
  readonly from: Millis
  readonly to: Millis
}

function parseRange(query: { readonly from?: string; readonly to?: string }, now: Millis): Range | Refusal {
  const span = parseSpan(query)
  if (span.kind === 'refused') return span
  const { from, to } = span
  const range: Range = {
    kind: 'range',
    from: from ?? Millis(Math.min(now, to ?? now) - HOUR_MS),
    // Points are kept to the microsecond: what was stored within this millisecond is meant by "now" too.
    to: to ?? Millis(now + 1),
  }
  if (range.from >= range.to) return outOfRange('/from', 'must be before `to`')
  return range
}

/** [contract 2.2] Names the shortest interval that fits. */
function tooManyBuckets({ from, to }: Range, interval: Interval): Refusal | undefined {
  const count = (candidate: Interval) => {
    const width = INTERVAL_SECONDS[candidate] * 1000
    return Math.ceil(to / width) - Math.floor(from / width)
  }
  if (count(interval) <= LIMITS.bucketsMax) return undefined
  const fits = INTERVALS.find((candidate) => count(candidate) <= LIMITS.bucketsMax)
  const advice = fits === undefined ? 'ask for less time' : `use interval=${fits} or ask for less time`
  return outOfRange(
    '/interval',
    `would give ${count(interval)} buckets; at most ${LIMITS.bucketsMax} are allowed: ${advice}`,
  )
}

function bucketBody({ time, avg, min, max, count, last }: Bucket) {
  return { time: toIso(time), avg, min, max, count, last }
}

const outOfRange = (path: string, message: string) =>
  invalid(path, { code: 'OUT_OF_RANGE', message, in: 'query' })
