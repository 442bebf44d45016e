// The history of one device: buckets, points page by page, or a file of either.
import { needsNames, selectMetrics } from '../../engine/domain/telemetry/selection.ts'
import type { Engine } from '../../engine/index.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { Point, PointPlace } from '../../engine/ports/telemetry.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { type DeviceId, Micros, toIso, toMillis } from '../../schemas/ids.ts'
import { getTelemetryHistory } from '../../schemas/operations/telemetry.ts'
import type { ExportFormat, Interval } from '../../schemas/vocabulary.ts'
import { deviceNotFound, visibleDeviceId } from '../auth/visible-device.ts'
import { type Answer, answer, type FileAnswer, jsonAnswer } from '../http/answer.ts'
import { nextLink } from '../http/cursor.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { bucketWriter, joined, listOf, type Pieces, withMember } from './bucket-text.ts'
import {
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
} from './telemetry-query.ts'

interface Query extends PastQuery {
  readonly metric: readonly string[]
  readonly limit?: number
  readonly cursor?: string
}

interface SeriesRequest {
  readonly deviceId: DeviceId
  readonly metrics: readonly string[]
  /** True if one metric is named. The answer then has a single series. */
  readonly isOne: boolean
  readonly range: Range
  readonly format: ExportFormat | undefined
  readonly url: string
}

export function telemetryHistoryRoute({ engine, clock, work }: Services): Route {
  return route(getTelemetryHistory, async ({ params, query, user, header, url }) => {
    const deviceId = visibleDeviceId(engine, params.device_id, user)
    if (deviceId === undefined) return deviceNotFound()
    const range = parseRange(query, clock.now())
    if (range.kind === 'refused') return range
    const format = fileFormat(query, header('accept'))
    if (query.metric.some((text) => /^,*$/.test(text))) return wrongMetric('TOO_SHORT', 'must name a metric')
    const { interval = '1m' } = query
    const metrics = await metricsOf(engine, deviceId, query.metric)
    const isRaw = interval === 'raw'
    const refusal = checkMetrics(
      metrics,
      isRaw && format !== undefined ? API_LIMITS.fileMetricsMax : API_LIMITS.seriesMax,
    )
    if (refusal !== undefined) return refusal
    const isOne = query.metric.length === 1 && metrics[0] === query.metric[0]
    const wanted: SeriesRequest = { deviceId, metrics, isOne, range, format, url }
    const reader = { engine, work, userId: user.id }
    return isRaw ? rawHistory(reader, wanted, query) : bucketHistory(reader, wanted, query, interval)
  })
}

/** Looks up names only if the query needs them. */
async function metricsOf(
  engine: Engine,
  deviceId: DeviceId,
  texts: readonly string[],
): Promise<readonly string[]> {
  const known = needsNames(texts) ? await engine.metricsOf(deviceId) : undefined
  return selectMetrics(texts, known?.map(({ metric }) => metric) ?? [])
}

function checkMetrics(metrics: readonly string[], most: number): Refusal | undefined {
  if (metrics.some((metric) => Buffer.byteLength(metric) > LIMITS.metricNameBytesMax))
    return wrongMetric('TOO_LONG', `a name has at most ${LIMITS.metricNameBytesMax} bytes`)
  if (metrics.length <= most) return undefined
  const message = `means ${metrics.length} metrics; at most ${most} are allowed: name fewer, or a longer prefix`
  return wrongMetric('TOO_MANY', message)
}

const wrongMetric = (code: string, message: string) => invalid('/metric', { code, message, in: 'query' })

interface Reader {
  readonly engine: Engine
  readonly work: Services['work']
  readonly userId: string
}

async function bucketHistory(
  { engine, work, userId }: Reader,
  { deviceId, metrics, isOne, range, format }: SeriesRequest,
  query: Query,
  interval: Interval,
): Promise<Answer | FileAnswer | Refusal> {
  const refusal = misplaced([
    ['limit', query.limit !== undefined, 'interval=raw'],
    ['cursor', query.cursor !== undefined, 'interval=raw'],
    ['fill', query.fill !== undefined && format !== undefined, 'JSON'],
  ])
  if (refusal !== undefined) return refusal
  const asked = parseBuckets(query, range, { interval, series: metrics.length })
  if (asked.kind === 'refused') return asked
  const { grid, aggregates, read, from, to } = asked
  const about = { deviceIds: [deviceId], by: 'device', metrics, from, to, grid, aggregates } as const
  if (format !== undefined) {
    if (metrics.length === 0) return noMetrics()
    const tooMuch = work.charge(userId, asked.filePrice)
    if (tooMuch !== undefined) return tooMuch
    const file = await orTooMuch(engine.exportTelemetry({ kind: 'series', query: about, format }))
    return file.kind === 'refused' ? file : fileAnswer(file.found, { name: deviceId, format, from, to })
  }
  return await work.spend<Answer | Refusal>(userId, asked.price, async () => {
    const answered = await orTooMuch(
      metrics.length === 0 ? Promise.resolve([]) : engine.series({ ...about, aggregates: read }),
    )
    if (answered.kind === 'refused') return { result: answered, price: asked.price }
    const { found } = answered
    const write = bucketWriter(asked)
    const written: Pieces[] = []
    for (const metric of metrics)
      written.push(await write(found.find((series) => series.metric === metric)?.buckets ?? []))
    const price = asked.priceOf(extentOf(found, { ...asked, series: metrics.length }))
    const shown = { deviceId, metrics, isOne, interval, from, to }
    return { result: await bucketAnswer(shown, written), price }
  })
}

const NOTHING = listOf([])

async function bucketAnswer(
  {
    deviceId,
    metrics,
    isOne,
    interval,
    from,
    to,
  }: Pick<SeriesRequest, 'deviceId' | 'metrics' | 'isOne'> & { readonly interval: Interval } & Omit<
      Range,
      'kind'
    >,
  written: readonly Pieces[],
): Promise<Answer> {
  const [metric = ''] = metrics
  const [only = NOTHING] = written
  if (isOne)
    return jsonAnswer(await joined(withMember({ device_id: deviceId, metric, interval }, 'data', only)))
  const series = metrics.map((name, index) => withMember({ metric: name }, 'data', written[index] ?? NOTHING))
  const about = { device_id: deviceId, interval, from: toIso(from), to: toIso(to) }
  return jsonAnswer(await joined(withMember(about, 'series', listOf(series))))
}

async function rawHistory(
  { engine, work, userId }: Reader,
  { deviceId, metrics, isOne, range, format, url }: SeriesRequest,
  query: Query,
): Promise<Answer | FileAnswer | Refusal> {
  const isFile = format !== undefined
  const refusal = misplaced([
    ['agg', query.agg !== undefined, 'buckets'],
    ['fill', query.fill !== undefined, 'buckets'],
    ['tz', query.tz !== undefined, 'buckets'],
    ['limit', isFile && query.limit !== undefined, 'JSON'],
    ['cursor', isFile && query.cursor !== undefined, 'JSON'],
  ])
  if (refusal !== undefined) return refusal
  const { from, to } = range
  if (isFile) {
    if (metrics.length === 0) return noMetrics()
    const tooMuch = work.charge(userId, metrics.length)
    if (tooMuch !== undefined) return tooMuch
    const about = { deviceIds: [deviceId], metrics, from, to }
    const file = await engine.exportTelemetry({ kind: 'points', query: about, format })
    return fileAnswer(file, { name: deviceId, format, from, to })
  }
  const [metric = ''] = metrics
  if (!isOne)
    return outOfRange(
      '/metric',
      'points come for one metric at a time; for several ask for a file, as format=csv',
    )
  const after = query.cursor === undefined ? undefined : parseCursor(query.cursor)
  if (query.cursor !== undefined && after === undefined)
    return refused('BAD_REQUEST', { message: 'cursor: must be the `next_cursor` of an earlier answer' })
  const { limit = BODY_LIMITS.rawPointsDefault } = query
  const tooMuch = work.charge(userId, limit / API_LIMITS.valuesPerWork)
  if (tooMuch !== undefined) return tooMuch
  // Requests one more point than needed, which shows whether there is another page.
  const points = await engine.points({ deviceId, metric, from, to, after, limit: limit + 1 })
  const data = points.slice(0, limit).map(({ at, value }) => ({ time: toIso(toMillis(at)), value }))
  const last = points[limit - 1]
  const next = points.length > limit && last !== undefined ? toCursor(last) : null
  const body = { device_id: deviceId, metric, interval: 'raw', data, next_cursor: next }
  return answer(200, body, next === null ? undefined : { link: nextLink(url, next) })
}

const noMetrics = () =>
  outOfRange('/metric', 'means no metric of this device, so there is nothing for a file')

const toCursor = ({ at, value }: Point) =>
  Buffer.from(`${at} ${typeof value === 'string' ? 'text' : 'number'}`).toString('base64url')

/** Returns undefined if the text is not a valid cursor. */
function parseCursor(cursor: string): PointPlace | undefined {
  const found = /^(\d{1,16}) (text|number)$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  return found === null ? undefined : { at: Micros(Number(found[1])), isText: found[2] === 'text' }
}
