import { describe, expect, test } from 'vitest'
import type { DeviceId } from '../../schemas/ids.ts'
import { openHarness } from '../testing/rest.ts'

const MINUTE_MS = 60_000

async function openFleet() {
  const harness = openHarness()
  const { login, device, request } = harness
  const { token } = await login('admin')
  const { token: some } = await login('viewer', { groups: ['a'] })
  await device('a1', { group: 'a' })
  await device('a2', { group: 'a/b' })
  await device('c1', { group: 'c' })
  const latest = async (body: object, bearer = token) =>
    await request('POST /api/v1/telemetry/latest', { token: bearer, body })
  const trend = async (query: string, bearer = token) =>
    await request(`GET /api/v1/fleet/trend?${query}`, { token: bearer })
  return { ...harness, token, some, latest, trend }
}

describe('the trend of the fleet', () => {
  test('the fleet is counted once a minute, and a bucket has its last count', async () => {
    const { trend, some, clock, engine } = await openFleet()
    const counted = async () => {
      const before = (await trend('interval=1m')).body.data.length
      clock.at += MINUTE_MS
      while ((await trend('interval=1m')).body.data.length === before) await new Promise(setImmediate)
    }
    await counted()
    await engine.publish('a1' as DeviceId, 'telemetry', { t: 1 })
    await counted()
    const { body } = await trend('interval=1m')
    expect(body.data.map(({ by_status: counts }: { by_status: object }) => counts)).toMatchObject([
      { provisioning: 3, online: 0 },
      { provisioning: 2, online: 1 },
    ])
    expect((await trend('interval=1d')).body.data).toMatchObject([{ total: 3, by_status: { online: 1 } }])
    expect((await trend('interval=1d&group=c')).body.data).toMatchObject([{ total: 1 }])
    expect((await trend('interval=1d', some)).body.data).toMatchObject([{ total: 2 }])
    expect((await trend('interval=1d&group=c', some)).body.data).toEqual([])
  })

  test('too many buckets are refused, and a span that ends before it begins', async () => {
    const { trend } = await openFleet()
    const wide = await trend('interval=1m&from=-30d')
    expect([wide.status, wide.body.errors[0].path]).toEqual([422, '/interval'])
    expect((await trend('from=-1h&to=-2h')).status).toBe(422)
  })
})

describe('the latest values of many devices', () => {
  test('named devices are answered in columns, and missing ones are named', async () => {
    const { latest, engine } = await openFleet()
    await engine.publish('a1' as DeviceId, 'telemetry', { battery: { percent: 80 }, mode: 'go', ok: true })
    await engine.publish('c1' as DeviceId, 'telemetry', { battery: { percent: 20 } })
    const metrics = ['battery.percent', 'mode', 'ok']
    const { body } = await latest({ device_ids: ['a1', 'c1', 'a2', 'nobody', 'a1'], metrics })
    const columns = Object.fromEntries(
      body.device_id.map((id: string, i: number) => [id, metrics.map((metric) => body.values[metric][i])]),
    )
    expect(columns).toEqual({ a1: [80, 'go', true], c1: [20, null, null], a2: [null, null, null] })
    const at = body.timestamps_ms['mode'][body.device_id.indexOf('a1')]
    expect([at > 0, body.timestamps_ms['mode'][body.device_id.indexOf('c1')]]).toEqual([true, null])
    expect(body.missing).toEqual(['nobody'])
  })

  test('a filter selects matching devices that the caller may see', async () => {
    const { latest, some } = await openFleet()
    const ids = async (filter: object, bearer?: string) =>
      (await latest({ filter, metrics: ['t'] }, bearer)).body.device_id.toSorted()
    expect(await ids({})).toEqual(['a1', 'a2', 'c1'])
    expect(await ids({ group: 'a' })).toEqual(['a1', 'a2'])
    expect(await ids({}, some)).toEqual(['a1', 'a2'])
    const named = await latest({ device_ids: ['a1', 'c1'], metrics: ['t'] }, some)
    expect([named.body.device_id, named.body.missing]).toEqual([['a1'], ['c1']])
  })

  test('ids and a filter exclude each other, and one of them is needed', async () => {
    const { latest } = await openFleet()
    for (const about of [{}, { device_ids: ['a1'], filter: {} }])
      expect((await latest({ ...about, metrics: ['t'] })).status).toBe(422)
    expect((await latest({ filter: {}, metrics: [] })).status).toBe(422)
    expect(
      (await latest({ filter: {}, metrics: Array.from({ length: 11 }, (_, i) => `m${i}`) })).status,
    ).toBe(422)
  })
})
