import { describe, expect, test } from 'vitest'
import { pointsBlock, textsBlock } from '../../engine/adapters/telemetry/testing/telemetry.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { NOW } from '../testing/rest.ts'
import { openTelemetry } from './testing/telemetry.ts'

const HISTORY = '/api/v1/telemetry/r/history'

describe('several metrics', () => {
  test('several metrics give a series each, as a list, repeated or by prefix', async () => {
    const { send, reported, points } = await openTelemetry()
    await points({ 'battery.percent': [5], 'battery.volt': [3], speed: [1] })
    await reported('battery.percent', 'battery.volt', 'speed')
    const seriesOf = async (query: string) => {
      const { body } = await send(`GET ${HISTORY}?${query}`)
      return body.series.map(({ metric, data }: { metric: string; data: { last: number }[] }) => [
        metric,
        data.map(({ last }) => last),
      ])
    }
    expect(await seriesOf('metric=speed,nothing')).toEqual([
      ['speed', [1]],
      ['nothing', []],
    ])
    expect(await seriesOf('metric=speed&metric=battery.volt')).toEqual([
      ['speed', [1]],
      ['battery.volt', [3]],
    ])
    expect(await seriesOf('metric=battery.*')).toEqual([
      ['battery.percent', [5]],
      ['battery.volt', [3]],
    ])
    expect(await seriesOf('metric=none.*')).toEqual([])
  })

  test('too many metrics are refused with their number', async () => {
    const { send, reported } = await openTelemetry()
    await reported(...Array.from({ length: 23 }, (_, i) => `m.${i}`))
    const { status, body } = await send(`GET ${HISTORY}?metric=m.*`)
    expect([status, body.errors[0].path]).toEqual([422, '/metric'])
    expect(body.detail).toContain('23 metrics')
    expect((await send(`GET ${HISTORY}?metric=m.*&interval=raw&format=ndjson`)).status).toBe(200)
  })

  test('a metric whose name looks like a list is found', async () => {
    const { send, reported, points } = await openTelemetry()
    await points({ 'a,b': [7] })
    await reported('a,b')
    expect((await send(`GET ${HISTORY}?metric=a,b`)).body).toMatchObject({
      metric: 'a,b',
      data: [{ last: 7 }],
    })
  })
})

describe('buckets', () => {
  test('buckets have the requested aggregates in that order', async () => {
    const { send, points } = await openTelemetry()
    await points({ m: [4, 1, 3, 2] })
    const { text } = await send(`GET ${HISTORY}?metric=m&agg=p50,first&agg=stddev,sum`)
    expect(text).toContain(
      '"time":"2026-03-01T12:00:00.000Z","p50":2.5,"first":4,"stddev":1.118033988749895,"sum":10}',
    )
  })

  test('buckets without points are filled as requested', async () => {
    const { send, points } = await openTelemetry()
    await points({ m: [4] })
    const range = 'from=2026-03-01T11:59:00Z&to=2026-03-01T12:02:00Z&agg=last,count'
    const filled = async (fill: string) =>
      (await send(`GET ${HISTORY}?metric=m&${range}&fill=${fill}`)).body.data.map(
        ({ last, count }: { last: number; count: number }) => [last, count],
      )
    expect(await filled('null')).toEqual([
      [null, 0],
      [4, 1],
      [null, 0],
    ])
    expect(await filled('previous')).toEqual([
      [null, 0],
      [4, 1],
      [4, 0],
    ])
    expect(await filled('linear')).toEqual([
      [null, 0],
      [4, 1],
      [null, 0],
    ])
  })

  test('fewer buckets can be filled than can be read, since all of them are written', async () => {
    const { send } = await openTelemetry()
    const names = Array.from({ length: 10 }, (_, i) => `m${i}`).join(',')
    const wide = `${HISTORY}?metric=${names}&interval=1m&from=-2201m`
    expect((await send(`GET ${wide}`)).status).toBe(200)
    const filled = await send(`GET ${wide}&fill=null`)
    expect([filled.status, filled.body.errors[0].path]).toEqual([422, '/interval'])
    expect(filled.body.detail).toContain('at most 2200 are allowed for each of 10 series: use interval=5m')
    expect((await send(`GET ${HISTORY}?metric=m0&interval=1m&from=-2201m&fill=null`)).status).toBe(200)
  })

  test('buckets of days begin at midnight of the time zone', async () => {
    const { send, points } = await openTelemetry()
    await points({ m: [4] })
    const range = 'from=2026-03-28T00:00:00Z&to=2026-03-31T00:00:00Z&fill=null&agg=count'
    const { body } = await send(`GET ${HISTORY}?metric=m&interval=1d&tz=Europe/Berlin&${range}`)
    expect(body.data.map(({ time }: { time: string }) => time)).toEqual([
      '2026-03-27T23:00:00.000Z',
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
      '2026-03-30T22:00:00.000Z',
    ])
  })

  test('buckets of too many points are refused with advice', async () => {
    const { send, engine } = await openTelemetry()
    engine.telemetry.series = () => Promise.reject(new Fault('TELEMETRY_TOO_MUCH', { retryable: false }))
    const { status, body } = await send(`GET ${HISTORY}?metric=m`)
    expect([status, body.errors[0].path]).toEqual([422, '/from'])
    expect(body.detail).toContain('ask for less time')
  })
})

describe('raw points', () => {
  test('raw points come in pages, and include texts', async () => {
    const { send, engine, points } = await openTelemetry()
    await points({ state: [1, 2] })
    const at = (NOW - 399) * 1000
    await engine.telemetry.insert(textsBlock([{ device: 'r', at, version: 1, values: { state: 'on' } }]))
    const values: unknown[] = []
    for (let path = `${HISTORY}?metric=state&interval=raw&limit=1`; ; ) {
      const { body, headers } = await send(`GET ${path}`)
      values.push(...body.data)
      if (body.next_cursor === null) break
      path = /<(.+)>; rel="next"/.exec(String(headers['link']))?.[1] ?? ''
    }
    expect(values).toEqual([
      { time: '2026-03-01T12:00:00.100Z', value: 1 },
      { time: '2026-03-01T12:00:00.101Z', value: 2 },
      { time: '2026-03-01T12:00:00.101Z', value: 'on' },
    ])
  })

  test('an invalid cursor is 400', async () => {
    const { send } = await openTelemetry()
    const { status } = await send(
      `GET ${HISTORY}?metric=m&interval=raw&cursor=${"'; DROP TABLE points".replaceAll(' ', '+')}`,
    )
    expect(status).toBe(400)
  })
})

describe('files', () => {
  test('a file is requested by format or by Accept and has a name and a type', async () => {
    const { send, points } = await openTelemetry()
    await points({ m: [4] })
    const csv = await send(`GET ${HISTORY}?metric=m&format=csv&agg=last`)
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8')
    expect(csv.headers['content-disposition']).toBe(
      'attachment; filename="r-20260301T110000Z-20260301T120000Z.csv"',
    )
    expect(csv.text).toBe('"device_id","metric","time","last"\n"r","m","2026-03-01T12:00:00.000000Z",4\n')
    const raw = `GET ${HISTORY}?metric=m&interval=raw`
    const lines = await send(raw, { accept: 'application/x-ndjson, application/json;q=0.5' })
    expect(JSON.parse(lines.text)).toMatchObject({
      time: '2026-03-01T12:00:00.100000Z',
      value: 4,
      text: null,
    })
    for (const accept of ['application/json', '*/*', 'text/html', 'application/json, text/csv'])
      expect((await send(raw, { accept })).headers['content-type']).toContain('application/json')
    expect((await send(`${raw}&format=json`, { accept: 'text/csv' })).headers['content-type']).toContain(
      'json',
    )
  })

  test('a file that fails before its first byte is answered with a problem', async () => {
    const { send } = await openTelemetry()
    // The in-memory telemetry adapter cannot write this format.
    const { status, headers, body } = await send(`GET ${HISTORY}?metric=m&format=parquet`)
    expect([status, body.code]).toEqual([503, 'DEPENDENCY_UNAVAILABLE'])
    expect(headers).not.toHaveProperty('content-disposition')
  })

  test('HEAD opens no file', async () => {
    const { send } = await openTelemetry()
    const { status, text } = await send(`HEAD ${HISTORY}?metric=m&format=csv`)
    expect([status, text]).toEqual([200, ''])
  })
})

describe('work of one user', () => {
  const WIDE = 'from=now-38d&to=now&interval=5m&agg=avg,min,max,count,last,sum'

  test('is bounded: a wide query is refused for a while after several like it', async () => {
    const { send, login, request, clock } = await openTelemetry({ requestRates: { work: 12 } })
    const wide = `GET ${HISTORY}?metric=m&fill=null&${WIDE}`
    const statuses = [await send(wide), await send(wide), await send(wide)].map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 429])
    const refused = await send(wide)
    expect(refused.body).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', limited: 'work' })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    const { token } = await login('viewer')
    expect((await request(wide, { token })).status).toBe(200)
    clock.at += 5_000
    expect((await send(wide)).status).toBe(200)
  })

  test('costs more where buckets have points', async () => {
    const { send, engine, clock } = await openTelemetry({ requestRates: { work: 3 } })
    const message = (_: unknown, i: number) => ({
      device: 'r',
      at: (NOW - (i + 1) * 10_000) * 1_000,
      version: i,
      values: { m: i },
    })
    await engine.telemetry.insert(pointsBlock(Array.from({ length: 600 }, message)))
    const span = 'from=now-100m&to=now&interval=10s&agg=avg,min,max,count,last,sum,first'
    const ask = (metric: string) => send(`GET ${HISTORY}?metric=${metric}&${span}&fill=null`)
    for (let i = 0; i < 3; i++) expect((await ask('nothing')).status).toBe(200)
    clock.at += 5_000
    for (let i = 0; i < 2; i++) expect((await ask('m')).status).toBe(200)
    expect((await ask('m')).body).toMatchObject({ limited: 'work' })
  })

  test('costs more where every point is read, by the number of points', async () => {
    const { send, engine, login, request } = await openTelemetry({ requestRates: { work: 12 } })
    const message = (_: unknown, i: number) => ({
      device: 'r',
      at: (NOW - (i + 1) * 70) * 1_000,
      version: i,
      values: { m: i },
    })
    await engine.telemetry.insert(pointsBlock(Array.from({ length: 50_000 }, message)))
    const { token } = await login('viewer')
    const question = (agg: string) => `GET ${HISTORY}?metric=m&from=now-1h&to=now&interval=1h&agg=${agg}`
    const few = question('first,stddev,p50,p95,p99')
    for (let i = 0; i < 9; i++) expect((await send(question('avg'))).status).toBe(200)
    const answers: { readonly status: number; readonly body: { readonly data: readonly object[] } }[] = []
    for (let i = 0; i < 9; i++) answers.push(await request(few, { token }))
    expect(Object.keys(answers[0]?.body.data[0] ?? {})).toEqual([
      'time',
      'first',
      'stddev',
      'p50',
      'p95',
      'p99',
    ])
    expect(answers.map(({ status }) => status)).toContain(429)
  })

  test('is charged by what an answer holds, not by what it could hold', async () => {
    const { send } = await openTelemetry({ requestRates: { work: 20 } })
    for (let i = 0; i < 5; i++) expect((await send(`GET ${HISTORY}?metric=m&${WIDE}`)).status).toBe(200)
  })
})
