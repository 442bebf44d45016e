import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { openHarness } from '../testing/rest.ts'
import { openTelemetry } from './testing/telemetry.ts'

describe('the metrics of a device', () => {
  test('metrics have a type, a last value and the definition of the device type', async () => {
    const telemetry = [
      { field: 'a', unit: 'C', range: [0, 50] as const, alertAbove: undefined, alertBelow: undefined },
    ]
    const type = {
      name: 'oven',
      displayName: 'Oven',
      icon: undefined,
      telemetry,
      commands: undefined,
      statusFields: [],
    }
    const { engine, device, login, request } = openHarness({ customTypes: new Map([['oven', type]]) })
    const id = await device('o', { type: 'oven' })
    const { token } = await login('viewer')
    await engine.publish(id, 'telemetry', { a: 1.5, b: true, c: 'on', d: [1], e: null })
    const { body } = await request('GET /api/v1/telemetry/o/metrics', { token })
    const timestamp = '2026-03-01T12:00:00.500Z'
    expect(body.data).toEqual([
      { metric: 'a', type: 'number', value: 1.5, timestamp, unit: 'C', range: [0, 50] },
      { metric: 'b', type: 'boolean', value: true, timestamp, unit: null, range: null },
      { metric: 'c', type: 'string', value: 'on', timestamp, unit: null, range: null },
      { metric: 'd', type: 'array', value: [1], timestamp, unit: null, range: null },
      { metric: 'e', type: null, value: null, timestamp, unit: null, range: null },
    ])
    expect((await request('GET /api/v1/telemetry/x/metrics', { token })).status).toBe(404)
  })
})

describe('the fleet', () => {
  async function fleet() {
    const harness = await openTelemetry()
    for (const [id, group] of [
      ['a1', 'a'],
      ['a2', 'a/x'],
      ['b1', 'b'],
    ] as const)
      await harness.device(id, { group })
    await harness.points({ m: [1, 3] }, 'a1')
    await harness.points({ m: [8] }, 'a2')
    await harness.points({ m: [100] }, 'b1')
    return harness
  }

  test('the fleet is answered by device, in pages', async () => {
    const { send } = await fleet()
    const { body, headers } = await send('GET /api/v1/telemetry?metric=m&group=a&agg=sum&per_page=1&page=2')
    expect(body).toMatchObject({ metric: 'm', interval: '1m', page: 2, total: 2, total_pages: 2 })
    expect(body.data).toEqual([{ device_id: 'a2', data: [{ time: '2026-03-01T12:00:00.000Z', sum: 8 }] }])
    expect(headers['x-total-count']).toBe('2')
    const all = await send('GET /api/v1/telemetry?metric=m')
    expect(all.body.data.map((each: { device_id: string }) => each.device_id)).toEqual([
      'a1',
      'a2',
      'b1',
      'r',
    ])
  })

  test('the fleet is answered for a group as a whole', async () => {
    const { send } = await fleet()
    const { body } = await send('GET /api/v1/telemetry?metric=m&group=a&by=group&agg=avg,count,p50')
    expect(body).toMatchObject({ group: 'a', devices: 2 })
    expect(body.data).toEqual([{ time: '2026-03-01T12:00:00.000Z', avg: 4, count: 3, p50: 3 }])
    const none = await send('GET /api/v1/telemetry?metric=m&group=nobody&by=group')
    expect([none.status, none.body.devices, none.body.data]).toEqual([200, 0, []])
  })

  test('several metrics are requested as for a single device, and each has a series', async () => {
    const { send, points } = await fleet()
    await points({ n: [5] }, 'a2')
    const query = 'group=a&agg=sum'
    for (const names of ['metric=m,n', 'metric=m&metric=n']) {
      const { body } = await send(`GET /api/v1/telemetry?${names}&${query}`)
      expect(body.metric).toBeUndefined()
      expect(body.data[1]).toEqual({
        device_id: 'a2',
        series: [
          { metric: 'm', data: [{ time: '2026-03-01T12:00:00.000Z', sum: 8 }] },
          { metric: 'n', data: [{ time: '2026-03-01T12:00:00.000Z', sum: 5 }] },
        ],
      })
    }
    const whole = (await send(`GET /api/v1/telemetry?metric=m,n&${query}&by=group`)).body
    expect(whole.series.map(({ data }: { data: readonly { sum: number }[] }) => data[0]?.sum)).toEqual([
      12, 5,
    ])
    const csv = await send(`GET /api/v1/telemetry?metric=m,n&group=a&interval=raw&format=csv`)
    expect(csv.text).toContain('"n"')
    for (const wrong of ['m.*', ',', '*'])
      expect((await send(`GET /api/v1/telemetry?metric=${wrong}`)).body.errors[0].path).toBe('/metric')
  })

  test('the fleet is limited to the caller’s groups', async () => {
    const { login, request } = await fleet()
    const { token } = await login('operator', { groups: ['a'] })
    const devices = async (query: string) =>
      (await request(`GET /api/v1/telemetry?metric=m&${query}`, { token })).body
    expect((await devices('')).data.map((each: { device_id: string }) => each.device_id)).toEqual([
      'a1',
      'a2',
    ])
    expect((await devices('group=b')).total).toBe(0)
    expect((await devices('by=group')).devices).toBe(2)
    expect((await devices('by=group&group=b')).devices).toBe(0)
    const file = await request('GET /api/v1/telemetry?metric=m&interval=raw&format=csv', { token })
    expect(file.text).not.toContain('b1')
    expect(file.text).toContain('a2')
  })

  test('only named devices are answered, and those that the caller may not see are left out', async () => {
    const { send, login, request } = await fleet()
    const named = 'GET /api/v1/telemetry?metric=m&agg=sum&device_id=b1&device_id=a1'
    const idsOf = (body: { data: readonly { device_id: string }[] }) => body.data.map((one) => one.device_id)
    const both = (await send(`${named}&device_id=a1&device_id=nobody`)).body
    expect([idsOf(both), both.total]).toEqual([['a1', 'b1'], 2])
    expect(idsOf((await send(`${named}&per_page=1&page=2`)).body)).toEqual(['b1'])
    expect(idsOf((await send(`${named}&group=b`)).body)).toEqual(['b1'])
    const whole = (await send(`${named}&by=group`)).body
    expect([whole.devices, whole.data[0].sum]).toEqual([2, 104])
    const { token } = await login('operator', { groups: ['a'] })
    expect(idsOf((await request(named, { token })).body)).toEqual(['a1'])
    const file = await request(`${named.replace('&agg=sum', '')}&interval=raw&format=csv`, { token })
    expect([file.text.includes('a1'), file.text.includes('b1')]).toEqual([true, false])
    const nothing = await request('GET /api/v1/telemetry?metric=m&device_id=b1&format=csv', { token })
    expect([nothing.status, nothing.body.errors[0].path]).toEqual([422, '/device_id'])
    const many = Array.from({ length: 21 }, (_, i) => `device_id=d${i}`).join('&')
    expect((await send(`GET /api/v1/telemetry?metric=m&${many}`)).status).toBe(422)
  })

  test('too many buckets or devices are refused with advice', async () => {
    const { send, device } = await fleet()
    const wide = await send(
      'GET /api/v1/telemetry?metric=m&interval=10s&from=2026-02-26T00:00:00Z&to=2026-02-27T00:00:00Z',
    )
    expect(wide.status).toBe(200)
    for (let i = 0; i < 20; i++) await device(`c${i}`, { group: 'c' })
    const many = await send(
      'GET /api/v1/telemetry?metric=m&interval=10s&from=2026-02-26T00:00:00Z&to=2026-02-27T00:00:00Z',
    )
    expect([many.status, many.body.errors[0].path]).toEqual([422, '/interval'])
    expect(many.body.detail).toContain('interval=1m')
  })

  test('a group of any size is answered as a whole once ClickHouse knows its devices', async () => {
    const { send, device, points, engine, clock } = await fleet()
    for (let i = 0; i <= LIMITS.groupDevicesMax; i++) await device(`d${i}`, { group: 'd/e' })
    await points({ m: [4] }, 'd7')
    const ask = () => send('GET /api/v1/telemetry?metric=m&by=group&group=d&agg=sum,count')
    const early = await ask()
    expect([early.status, early.body.code]).toEqual([503, 'DEPENDENCY_UNAVAILABLE'])
    clock.at += LIMITS.devicesCopyEveryMs
    await expect.poll(() => engine.knowsDevices()).toBe(true)
    const late = await ask()
    expect(late.status, late.text).toBe(200)
    expect(late.body).toMatchObject({ devices: LIMITS.groupDevicesMax + 1, group: 'd' })
    expect(late.body.data).toEqual([{ time: '2026-03-01T12:00:00.000Z', sum: 4, count: 1 }])
    // A query for the whole fleet returns only what the caller may see of it.
    const all = await send('GET /api/v1/telemetry?metric=m&by=group&agg=sum')
    expect(all.body.data).toMatchObject([{ sum: 116 }])
    const file = await send('GET /api/v1/telemetry?metric=m&group=d&interval=raw&format=ndjson')
    expect(file.text.trim().split('\n')).toHaveLength(1)
  })
})

describe('work of one user', () => {
  /** How many such files a user may request at once. */
  async function files(query: string): Promise<number> {
    const harness = await openTelemetry({ requestRates: { work: 20 } })
    for (const id of ['a1', 'a2', 'a3']) await harness.device(id)
    const ask = () => harness.send(`GET /api/v1/telemetry?metric=m&format=csv&${query}`)
    for (let n = 0; n < 50; n++) if ((await ask()).body.limited === 'work') return n
    return 50
  }

  test('a file of the fleet costs the points read for all its devices', async () => {
    const day = 'from=now-1d&to=now&interval=1h'
    const kept = await files(`${day}&agg=avg,min,max`)
    expect(await files(`${day}&agg=p50,p95,p99`)).toBeLessThan(kept / 1.5)
    expect(await files(`${day}&agg=p50,p95,p99&by=group`)).toBeLessThan(kept / 1.5)
  })

  test('a file of the fleet costs the buckets of each device, while a group as a whole costs them once', async () => {
    const days = 'from=now-7d&to=now&interval=1m&agg=avg,min,max'
    expect(await files(`${days}&by=group`)).toBeGreaterThan(await files(days))
  })
})
