// The history of metrics for many devices: one series per device, or one for a whole group.
import { fleetJudge } from '../../engine/domain/fleet/selection.ts'
import { namesOf, needsNames } from '../../engine/domain/telemetry/selection.ts'
import type { Bucket } from '../../engine/domain/telemetry/summary.ts'
import type { Engine } from '../../engine/index.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { DeviceChoice } from '../../engine/ports/telemetry.ts'
import { type DeviceId, parseDeviceId, toIso } from '../../schemas/ids.ts'
import { getFleetTelemetry } from '../../schemas/operations/telemetry.ts'
import type { ExportFormat } from '../../schemas/vocabulary.ts'
import { scopeOf } from '../auth/scope.ts'
import { type Answer, type FileAnswer, jsonAnswer } from '../http/answer.ts'
import { pageBody, pageHeaders, toWindow, type Window } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { type BucketWriter, bucketWriter, joined, listOf, type Pieces, withMember } from './bucket-text.ts'
import {
  type Extent,
  extentOf,
  fileAnswer,
  fileFormat,
  misplaced,
  orTooMuch,
  outOfRange,
  type PastQuery,
  parseBuckets,
  parseRange,
  type Range,
  type SeriesRange,
} from './telemetry-query.ts'

interface Query extends PastQuery {
  readonly metric: readonly string[]
  readonly group?: string
  readonly device_id?: readonly string[]
  readonly by?: 'device' | 'group'
}

export function fleetTelemetryRoute({ engine, clock, work }: Services): Route {
  return route(getFleetTelemetry, async ({ query, user, header, url }) => {
    const range = parseRange(query, clock.now())
    if (range.kind === 'refused') return range
    const { interval = '1m', by = 'device', group } = query
    const format = fileFormat(query, header('accept'))
    const refusal = misplaced([
      ['interval', interval === 'raw' && format === undefined, 'a file where it is raw, as format=csv,'],
      ['fill', query.fill !== undefined && format !== undefined, 'JSON'],
    ])
    if (refusal !== undefined) return refusal
    const metrics = namesOf(query.metric)
    const most = interval === 'raw' ? API_LIMITS.fileMetricsMax : API_LIMITS.seriesMax
    const unfit = refuseNames(metrics, most)
    if (unfit !== undefined) return unfit
    const choice: Choice = { group, named: query.device_id, within: scopeOf(user) }
    const isPaged = by === 'device' && format === undefined
    const window = toWindow(query)
    const { ids, total } = devices(engine, choice, isPaged ? window : WHOLE)
    // If there are too many devices to name, ClickHouse selects them, with its own table that follows the records.
    const isMany = !isPaged && total > LIMITS.groupDevicesMax
    if (isMany && !engine.knowsDevices())
      return refused('DEPENDENCY_UNAVAILABLE', {
        message: `ClickHouse does not know all ${total} devices yet; at most ${LIMITS.groupDevicesMax} can be asked for`,
        retry_after_sec: API_LIMITS.retryAfterSec,
      })
    const among = isMany ? { group, within: choice.within } : undefined
    const devicesWork = ((isPaged ? ids.length : total) * metrics.length) / API_LIMITS.devicesPerWork
    if (format !== undefined)
      return await file(
        { engine, charge: (price) => work.charge(user.id, devicesWork + price) },
        { query, metrics, range, ids, among, format, total },
      )
    // Raw points without a format have already been refused.
    const asked = parseBuckets(query, range, {
      interval: interval === 'raw' ? '1m' : interval,
      series: (isPaged ? ids.length : 1) * metrics.length,
      sources: (isPaged ? ids.length : total) * metrics.length,
    })
    if (asked.kind === 'refused') return asked
    const question = { query, metrics, asked, ids, among, total, window, url }
    return await work.spend<Answer | Refusal>(user.id, devicesWork + asked.price, async () => {
      const { result, buckets } =
        by === 'group' ? await groupAnswer(engine, question) : await deviceAnswer(engine, question)
      return { result, price: devicesWork + (buckets === undefined ? asked.price : asked.priceOf(buckets)) }
    })
  })
}

const WHOLE: Pick<Window, 'offset' | 'perPage'> = { offset: 0, perPage: LIMITS.groupDevicesMax }

interface Choice {
  readonly group: string | undefined
  readonly named: readonly string[] | undefined
  readonly within: readonly string[] | undefined
}

function devices(engine: Engine, { named, ...filter }: Choice, { offset, perPage }: typeof WHOLE) {
  if (named !== undefined) {
    const fits = fleetJudge(filter)
    const ids = [...new Set(named)].sort().flatMap((name) => {
      const id = parseDeviceId(name)
      const device = id && engine.devices.summary(id)
      return id !== undefined && device !== undefined && fits(device) ? [id] : []
    })
    return { ids: ids.slice(offset, offset + perPage), total: ids.length }
  }
  const found = engine.devices.list(filter, { offset, limit: perPage, sort: 'device_id', descending: false })
  return { ids: found.devices.map(({ id }) => id), total: found.total }
}

/** Undefined if all are valid metric names, and there are not too many. */
function refuseNames(metrics: readonly string[], most: number): Refusal | undefined {
  const wrong = (code: string, message: string) => invalid('/metric', { code, message, in: 'query' })
  if (metrics.length === 0) return wrong('TOO_SHORT', 'must name a metric')
  if (metrics.length > most)
    return wrong('TOO_MANY', `means ${metrics.length} metrics; at most ${most} are allowed`)
  if (metrics.some((metric) => Buffer.byteLength(metric) > LIMITS.metricNameBytesMax))
    return wrong('TOO_LONG', `a name has at most ${LIMITS.metricNameBytesMax} bytes`)
  return needsNames(metrics)
    ? wrong('NOT_ALLOWED', 'must name each metric: prefixes are for single devices')
    : undefined
}

interface Question {
  readonly query: Query
  readonly metrics: readonly string[]
  readonly asked: SeriesRange
  readonly ids: readonly DeviceId[]
  /** Set if there are too many devices to name. */
  readonly among: DeviceChoice | undefined
}

/** Skips the query if there are no devices, because to the engine an empty list means all devices. */
const seriesOf = async (engine: Engine, { metrics, asked, ids, among }: Question, by: 'device' | 'group') => {
  const { from, to, grid, read: aggregates } = asked
  if (ids.length === 0) return { kind: 'found', found: [] } as const
  return await orTooMuch(engine.series({ deviceIds: ids, among, by, metrics, from, to, grid, aggregates }))
}

/** An answer, with the buckets it used. Undefined if their number is unknown. */
interface DeviceAnswer {
  readonly result: Answer | Refusal
  readonly buckets: Extent | undefined
}

async function deviceAnswer(
  engine: Engine,
  question: Question & { readonly total: number; readonly window: Window; readonly url: string },
): Promise<DeviceAnswer> {
  const { metrics, asked, ids, total, window, url } = question
  const series = await seriesOf(engine, question, 'device')
  if (series.kind === 'refused') return { result: series, buckets: undefined }
  const found = new Map(series.found.map((one) => [`${one.deviceId} ${one.metric}`, one.buckets]))
  const write = bucketWriter(asked)
  const written: Pieces[] = []
  for (const id of ids) {
    const bucketsOf = (metric: string) => found.get(`${id} ${metric}`) ?? []
    written.push(await withSeries({ device_id: id }, metrics, { bucketsOf, write }))
  }
  const { data: _, ...page } = pageBody([], total, window)
  const body = withMember({ ...about(question), ...page }, 'data', listOf(written))
  const result = jsonAnswer(await joined(body), pageHeaders(total, window, url))
  return { result, buckets: extentOf(series.found, { ...asked, series: ids.length * metrics.length }) }
}

async function groupAnswer(
  engine: Engine,
  question: Question & { readonly total: number },
): Promise<DeviceAnswer> {
  const { query, metrics, asked, total } = question
  const series = await seriesOf(engine, question, 'group')
  if (series.kind === 'refused') return { result: series, buckets: undefined }
  const found = new Map(series.found.map((one) => [one.metric, one.buckets]))
  const head = { ...about(question), group: query.group ?? null, devices: total }
  const bucketsOf = (metric: string) => found.get(metric) ?? []
  const body = await withSeries(head, metrics, { bucketsOf, write: bucketWriter(asked) })
  return {
    result: jsonAnswer(await joined(body)),
    buckets: extentOf(series.found, { ...asked, series: metrics.length }),
  }
}

/** A single metric has its buckets in `data`. Several metrics have one series each. */
async function withSeries(
  head: object,
  metrics: readonly string[],
  series: { readonly bucketsOf: (metric: string) => readonly Bucket[]; readonly write: BucketWriter },
): Promise<Pieces> {
  const { bucketsOf, write } = series
  const [only, ...others] = metrics
  if (only !== undefined && others.length === 0) return withMember(head, 'data', await write(bucketsOf(only)))
  const written: Pieces[] = []
  for (const metric of metrics) written.push(withMember({ metric }, 'data', await write(bucketsOf(metric))))
  return withMember(head, 'series', listOf(written))
}

const about = ({ metrics, asked: { interval, from, to } }: Question) => ({
  ...(metrics.length === 1 ? { metric: metrics[0] } : {}),
  interval,
  from: toIso(from),
  to: toIso(to),
})

interface FileQuestion extends Omit<Question, 'asked'> {
  readonly range: Range
  readonly format: ExportFormat
  readonly total: number
}

interface FileTools {
  readonly engine: Engine
  /** Charges the cost of the file in addition to that of its devices. */
  readonly charge: (price: number) => Refusal | undefined
}

async function file(
  { engine, charge }: FileTools,
  { query, metrics, range, ids, among, format, total }: FileQuestion,
): Promise<FileAnswer | Refusal> {
  if (ids.length === 0)
    return outOfRange(
      query.device_id === undefined ? '/group' : '/device_id',
      'has no device that you may see, so there is nothing for a file',
    )
  const { interval = '1m', by = 'device' } = query
  const { from, to } = range
  const points = { deviceIds: ids, among, metrics, from, to }
  const named = { name: 'telemetry', format, from, to }
  if (interval === 'raw') {
    const refusal = misplaced([
      ['agg', query.agg !== undefined, 'buckets'],
      ['tz', query.tz !== undefined, 'buckets'],
      ['by', by === 'group', 'buckets where it is group'],
    ])
    if (refusal !== undefined) return refusal
    return (
      charge(0) ?? fileAnswer(await engine.exportTelemetry({ kind: 'points', query: points, format }), named)
    )
  }
  const sources = total * metrics.length
  const inFile = by === 'group' ? metrics.length : sources
  const asked = parseBuckets(query, range, { interval, series: 1, sources, inFile })
  if (asked.kind === 'refused') return asked
  const tooMuch = charge(asked.filePrice)
  if (tooMuch !== undefined) return tooMuch
  const { grid, aggregates } = asked
  const what = { kind: 'series', query: { ...points, by, grid, aggregates }, format } as const
  const bytes = await orTooMuch(engine.exportTelemetry(what))
  return bytes.kind === 'refused' ? bytes : fileAnswer(bytes.found, named)
}
