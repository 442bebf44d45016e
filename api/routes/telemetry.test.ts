import { describe, expect, test } from 'vitest'
import { NO_SAVE } from '../../engine/ports/store.ts'
import { Micros } from '../../schemas/ids.ts'
import { NOW } from '../testing/rest.ts'
import { openTelemetry } from './testing/telemetry.ts'

const HISTORY = '/api/v1/telemetry/r/history'
const HOUR_MS = 3_600_000
const at = (iso: string) => Date.parse(iso)

describe('the snapshot', () => {
  test('a snapshot is nested as the device reported it', async () => {
    const { send, engine, id } = await openTelemetry()
    const data = { odom: { position: { x: 1.5 } }, mode: 'auto', 'a.b': [1] }
    await engine.publish(id, 'telemetry', data)
    const { body } = await send('GET /api/v1/telemetry/r')
    expect(body).toEqual({ device_id: 'r', timestamp: '2026-03-01T12:00:00.500Z', data })
  })

  test('the snapshot of a device that never reported is empty', async () => {
    const { send } = await openTelemetry()
    const { status, body } = await send('GET /api/v1/telemetry/r')
    expect([status, body]).toEqual([200, { device_id: 'r', timestamp: null, data: {} }])
  })

  test('the snapshot of an unknown device is 404', async () => {
    const { send } = await openTelemetry()
    expect((await send('GET /api/v1/telemetry/x')).status).toBe(404)
    expect((await send(`GET /api/v1/telemetry/x/history?metric=m`)).status).toBe(404)
  })
})

describe('the history', () => {
  test('the history covers the last hour by minute by default, up to the current millisecond', async () => {
    const { send, engine, points } = await openTelemetry()
    await points({ 'battery.percent': [1, 2] })
    const { text } = await send(`GET ${HISTORY}?metric=battery.percent`)
    expect(text).toBe(
      '{"device_id":"r","metric":"battery.percent","interval":"1m",' +
        '"data":[{"time":"2026-03-01T12:00:00.000Z","avg":1.5,"min":1,"max":2,"count":2,"last":2}]}',
    )
    expect(engine.asked[0]).toMatchObject({ from: NOW - HOUR_MS, to: NOW + 1, grid: [{ from: 0, step: 60 }] })
  })

  test.each([
    ['from=2026-03-01T00:00:00Z', at('2026-03-01T00:00:00Z'), NOW + 1],
    ['from=2026-03-01T02:00:00%2B02:00', at('2026-03-01T00:00:00Z'), NOW + 1],
    ['from=2026-03-01T02:00:00+02:00', at('2026-03-01T00:00:00Z'), NOW + 1],
    ['from=2026-03-01', at('2026-03-01T00:00:00Z'), NOW + 1],
    [
      'from=2026-03-01T11:30&to=2026-03-01T11:31:00.1234567Z',
      at('2026-03-01T11:30Z'),
      at('2026-03-01T11:31:00.123Z'),
    ],
    ['to=2026-02-01T00:00:00Z', at('2026-01-31T23:00:00Z'), at('2026-02-01T00:00:00Z')],
    ['to=2026-03-01T13:00:00Z', NOW - HOUR_MS, at('2026-03-01T13:00:00Z')],
  ])('?%s', async (query, from, to) => {
    const { send, engine } = await openTelemetry()
    expect((await send(`GET ${HISTORY}?metric=m&interval=5m&${query}`)).status).toBe(200)
    expect(engine.asked[0]).toMatchObject({ from, to, grid: [{ from: 0, step: 300 }] })
  })

  test.each([
    ['', '/metric', 'REQUIRED'],
    ['metric=', '/metric', 'TOO_SHORT'],
    [`metric=${'m'.repeat(257)}`, '/metric', 'TOO_LONG'],
    ['metric=m&interval=2m', '/interval', 'NOT_ALLOWED'],
    ['metric=m&from=yesterday', '/from', 'WRONG_FORMAT'],
    ['metric=m&from=2026-02-30T00:00:00Z', '/from', 'WRONG_FORMAT'],
    ['metric=m&from=2026-02-01T24:00:00Z', '/from', 'WRONG_FORMAT'],
    ['metric=m&to=', '/to', 'WRONG_FORMAT'],
    ['metric=m&to=2026-03-01T12:00:00%2B99:00', '/to', 'WRONG_FORMAT'],
    ['metric=m&from=2026-03-01T11:00:00Z&to=2026-03-01T11:00:00Z', '/from', 'OUT_OF_RANGE'],
    ['metric=m&from=2027-01-01', '/from', 'OUT_OF_RANGE'],
    ['metric=m&nonsense=5', '/nonsense', 'UNKNOWN_PARAMETER'],
    ['metric=m&limit=5', '/limit', 'NOT_ALLOWED'],
    ['metric=m&cursor=a', '/cursor', 'NOT_ALLOWED'],
    ['metric=m&agg=avg,mean', '/agg', 'NOT_ALLOWED'],
    ['metric=m&agg=', '/agg', 'NOT_ALLOWED'],
    ['metric=m&agg=constructor', '/agg', 'NOT_ALLOWED'],
    ['metric=m&fill=zero', '/fill', 'NOT_ALLOWED'],
    ['metric=m&tz=Mars/Olympus', '/tz', 'NOT_ALLOWED'],
    ['metric=m&format=xml', '/format', 'NOT_ALLOWED'],
    ['metric=m&format=csv&fill=null', '/fill', 'NOT_ALLOWED'],
    ['metric=m&interval=raw&agg=avg', '/agg', 'NOT_ALLOWED'],
    ['metric=m&interval=raw&tz=Europe/Berlin', '/tz', 'NOT_ALLOWED'],
    ['metric=m,n&interval=raw', '/metric', 'OUT_OF_RANGE'],
    ['metric=a,b,c,d,e,f,g,h,i,j,k', '/metric', 'TOO_MANY'],
    ['metric=nothing.*&format=csv', '/metric', 'OUT_OF_RANGE'],
  ])('refuses ?%s', async (query, path, code) => {
    const { send, engine } = await openTelemetry()
    const { status, body } = await send(`GET ${HISTORY}?${query}`)
    expect([status, body.code]).toEqual([422, 'VALIDATION_FAILED'])
    expect(body.errors).toContainEqual(expect.objectContaining({ path, code }))
    expect(engine.asked).toEqual([])
  })

  test('too many buckets are refused with an interval that fits', async () => {
    const { send } = await openTelemetry()
    const { status, body } = await send(`GET ${HISTORY}?metric=m&interval=10s&from=2026-02-20T00:00:00Z`)
    expect([status, body.errors[0].path]).toEqual([422, '/interval'])
    expect(body.detail).toContain('interval=5m')
    const ever = await send(`GET ${HISTORY}?metric=m&interval=1d&from=1970-01-01T00:00:00Z`)
    expect(ever.body.detail).toContain('less time')
  })

  test('the largest allowed number of buckets is answered', async () => {
    const { send } = await openTelemetry()
    const statusFrom = async (from: number) => {
      const range = `from=${new Date(from).toISOString()}&to=2026-03-01T00:00:00Z`
      return (await send(`GET ${HISTORY}?metric=m&interval=1m&${range}`)).status
    }
    const end = at('2026-03-01T00:00:00Z')
    expect(await statusFrom(end - 11_000 * 60_000)).toBe(200)
    expect(await statusFrom(end - 11_000 * 60_000 - 1)).toBe(422)
  })
})

describe('dead letters', () => {
  test('dead letters have their reason, and bytes that are not text are Base64', async () => {
    const { engine, login, request, id } = await openTelemetry()
    const { token } = await login('admin')
    const letter = {
      id: 'dl_3_7_0',
      deviceId: id,
      topic: 'fleet/r/telemetry',
      reason: 'MALFORMED',
      detail: 'not JSON',
      payload: Buffer.from('{"a":'),
      payloadBytes: 5,
      receivedAt: Micros(NOW * 1000),
    }
    const binary = { ...letter, id: 'dl_3_8_0', payload: Uint8Array.of(0xff, 0xfe) }
    await engine.store.save({ ...NO_SAVE, deadLetters: [binary, letter] })
    const { body } = await request('GET /api/v1/dead-letters?device_id=r', { token })
    expect(body.data).toEqual([
      {
        id: 'dl_3_7_0',
        device_id: 'r',
        topic: 'fleet/r/telemetry',
        reason: 'MALFORMED',
        detail: 'not JSON',
        payload: '{"a":',
        payload_encoding: 'utf8',
        payload_bytes: 5,
        received_at: '2026-03-01T12:00:00.500Z',
        advice: expect.stringMatching(/./),
        replayable: true,
      },
      expect.objectContaining({ payload: '//4=', payload_encoding: 'base64' }),
    ])
    expect((await request('GET /api/v1/dead-letters?device_id=other', { token })).body.total).toBe(0)
    expect((await request('GET /api/v1/dead-letters?device_id=b%2Fc', { token })).body.total).toBe(0)
  })
})
