// The history of one metric of many devices: each by itself, or a group as a whole.
import type { Engine } from '../../engine/index.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { DeviceFilter } from '../../engine/ports/store.ts'
import { type DeviceId, toIso } from '../../schemas/ids.ts'
import { getFleetTelemetry } from '../../schemas/operations/telemetry.ts'
import type { ExportFormat } from '../../schemas/vocabulary.ts'
import { scopeOf } from '../auth/scope.ts'
import { type Answer, answer, type FileAnswer } from '../http/answer.ts'
import { pageAnswer, pageBody, toWindow, type Window } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import type { Refusal } from '../refusal.ts'
import {
  type Asked,
  bucketBodies,
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
  readonly metric: string
  readonly group?: string
  readonly by?: 'device' | 'group'
}

export function fleetTelemetryRoute({ engine, clock }: Services): Route {
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
    const filter: DeviceFilter = { group, within: scopeOf(user) }
    const isPaged = by === 'device' && format === undefined
    const window = toWindow(query)
    const { ids, total } = devices(engine, filter, isPaged ? window : WHOLE)
    if (!isPaged && total > LIMITS.groupDevicesMax)
      return outOfRange(
        '/group',
        `has ${total} devices; at most ${LIMITS.groupDevicesMax} are taken together: name a smaller one`,
      )
    if (format !== undefined) return file(engine, { query, range, ids, format })
    // Raw points without a format were refused before.
    const asked = parseBuckets(query, range, {
      interval: interval === 'raw' ? '1m' : interval,
      series: isPaged ? ids.length : 1,
    })
    if (asked.kind === 'refused') return asked
    return by === 'group'
      ? groupAnswer(engine, { query, asked, ids })
      : deviceAnswer(engine, { query, asked, ids, total, window, url })
  })
}

const WHOLE: Pick<Window, 'offset' | 'perPage'> = { offset: 0, perPage: LIMITS.groupDevicesMax }

function devices(engine: Engine, filter: DeviceFilter, { offset, perPage }: typeof WHOLE) {
  const found = engine.devices.list(filter, { offset, limit: perPage, sort: 'device_id', descending: false })
  return { ids: found.devices.map(({ id }) => id), total: found.total }
}

interface Question {
  readonly query: Query
  readonly asked: Asked
  readonly ids: readonly DeviceId[]
}

/** Does not query if there are no devices, since an empty list would mean all devices to the engine. */
const seriesOf = async (engine: Engine, { query, asked, ids }: Question, by: 'device' | 'group') => {
  const { from, to, grid, aggregates } = asked
  if (ids.length === 0) return { kind: 'found', found: [] } as const
  return await orTooMuch(
    engine.series({ deviceIds: ids, by, metrics: [query.metric], from, to, grid, aggregates }),
  )
}

async function deviceAnswer(
  engine: Engine,
  question: Question & { readonly total: number; readonly window: Window; readonly url: string },
): Promise<Answer | Refusal> {
  const { query, asked, ids, total, window, url } = question
  const series = await seriesOf(engine, question, 'device')
  if (series.kind === 'refused') return series
  const byDevice = new Map(series.found.map(({ deviceId, buckets }) => [deviceId, buckets]))
  const data = ids.map((id) => ({ device_id: id, data: bucketBodies(byDevice.get(id) ?? [], asked) }))
  const body = { ...about(query, asked), ...pageBody(data, total, window) }
  return { ...pageAnswer(data, total, window, url), body }
}

async function groupAnswer(engine: Engine, question: Question): Promise<Answer | Refusal> {
  const { query, asked, ids } = question
  const series = await seriesOf(engine, question, 'group')
  if (series.kind === 'refused') return series
  const data = bucketBodies(series.found[0]?.buckets ?? [], asked)
  return answer(200, { ...about(query, asked), group: query.group ?? null, devices: ids.length, data })
}

const about = ({ metric }: Query, { interval, from, to }: Asked) => ({
  metric,
  interval,
  from: toIso(from),
  to: toIso(to),
})

async function file(
  engine: Engine,
  {
    query,
    range,
    ids,
    format,
  }: Omit<Question, 'asked'> & { readonly range: Range; readonly format: ExportFormat },
): Promise<FileAnswer | Refusal> {
  if (ids.length === 0)
    return outOfRange('/group', 'has no device that you may see, so there is nothing for a file')
  const { interval = '1m', by = 'device', metric } = query
  const { from, to } = range
  const points = { deviceIds: ids, metrics: [metric], from, to }
  const named = { name: 'telemetry', format, from, to }
  if (interval === 'raw') {
    const refusal = misplaced([
      ['agg', query.agg !== undefined, 'buckets'],
      ['tz', query.tz !== undefined, 'buckets'],
      ['by', by === 'group', 'buckets where it is group'],
    ])
    if (refusal !== undefined) return refusal
    return fileAnswer(await engine.exportTelemetry({ kind: 'points', query: points, format }), named)
  }
  const asked = parseBuckets(query, range, { interval, series: 1 })
  if (asked.kind === 'refused') return asked
  const { grid, aggregates } = asked
  const what = { kind: 'series', query: { ...points, by, grid, aggregates }, format } as const
  const bytes = await orTooMuch(engine.exportTelemetry(what))
  return bytes.kind === 'refused' ? bytes : fileAnswer(bytes.found, named)
}
