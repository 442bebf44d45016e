// TEL and SHD: values, history buckets and the shadow.
import type { JsonObject } from '../../../../../schemas/json.ts'
import { UnmetCheck } from '../../verdict.ts'
import { rowsOf } from '../rest.ts'
import type { Run } from '../run.ts'
import { check, type ServiceCheck } from '../steps.ts'

const MINUTE_MS = 60_000
const MINUTES = 10
const POINTS = 400

export const TELEMETRY: readonly ServiceCheck[] = [
  {
    ...check('TEL-01', 'Telemetry', 'acknowledged telemetry appears in the latest values and in the history'),
    run: async (run) => {
      const device = await run.register()
      const { publish } = await run.connect(device)
      const from = Date.now() - 60_000
      const points = [3, 1, 2].map((n, index) => ({
        n,
        timestamp: new Date(from + index * 1_000).toISOString(),
      }))
      await publish('telemetry', points)
      await publish('telemetry', { room: { temperature: 21.5 }, on: true, mode: 'eco' })
      await run.until('the latest values', async () => {
        const latest = Object((await run.rest.get(`/telemetry/${device.id}`)).body['data'])
        const isThere = latest.room?.temperature === 21.5 && latest.mode === 'eco' && latest.on === true
        return isThere
      })
      const range = `from=${new Date(from).toISOString()}&to=${new Date(from + 10_000).toISOString()}`
      const path = `/telemetry/${device.id}/history?metric=n&interval=10s&${range}`
      await run.until('buckets with count 3, min 1 and max 3', async () => {
        const buckets = rowsOf((await run.rest.get(path)).body)
        const counts = buckets.reduce((sum, { count }) => sum + Number(count ?? 0), 0)
        const low = Math.min(...buckets.map(({ min }) => Number(min ?? 9)))
        const high = Math.max(...buckets.map(({ max }) => Number(max ?? 0)))
        return counts === 3 && low === 1 && high === 3
      })
    },
  },
  {
    ...check('TEL-02', 'Telemetry', 'objects, batches and topics with a name become dotted metrics'),
    run: async (run) => {
      const device = await run.register()
      const { publish } = await run.connect(device)
      await publish('telemetry', { a: { b: { c: 1 } }, flag: false, word: 'x', list: [1, 2] })
      const ago = (ms: number) => new Date(Date.now() - ms).toISOString()
      await publish('telemetry', [
        { batch: 2, timestamp: ago(1_000) },
        { batch: 1, timestamp: ago(2_000) },
      ])
      await publish('telemetry/engine', { rpm: 900 })
      await run.until('all values in the latest values', async () => {
        const { body } = await run.rest.get(`/telemetry/${device.id}`)
        const latest = Object(body['data'])
        const isThere = latest.a?.b?.c === 1 && latest.flag === false && latest.word === 'x'
        return isThere && latest.batch === 2 && latest.engine?.rpm === 900
      })
    },
  },
  {
    ...check(
      'TEL-03',
      'Telemetry',
      'buckets have the right sums even if points arrive late and out of order',
    ),
    run: buckets,
  },
  {
    ...check(
      'SHD-01',
      'Shadow',
      'one of a hundred concurrent writers with the same version wins, and the device gets in sync',
    ),
    run: async (run) => {
      const device = await run.register()
      const session = await run.connect(device)
      await run.subscribe(session, device, 'shadow/desired', 'shadow/get/accepted')
      const path = `/shadows/${device.id}`
      const { version } = (await run.rest.get(path)).body
      const writes = Array.from({ length: 100 }, (_, n) =>
        run.rest.call('PUT', `${path}/desired`, { body: { n }, ifMatch: Number(version) }),
      )
      const won = (await Promise.all(writes)).filter((answer) => answer.status === 200)
      if (won.length !== 1)
        throw new UnmetCheck(`${won.length} of 100 writers with the same version won, not one`)
      const wanted = Object((await run.rest.get(path)).body['desired']) as JsonObject
      await run.until('the device gets the desired state', () =>
        session.inbox.some(({ body }) => Object(body?.['state']).n === wanted['n']),
      )
      await session.publish('shadow/reported', wanted)
      await run.until('the shadow is in sync', async () => {
        return (await run.rest.get(path)).body['in_sync'] === true
      })
    },
  },
]

interface Bucket {
  count: number
  min: number
  max: number
  sum: number
}

async function buckets(run: Run): Promise<void> {
  const device = await run.register()
  const { publish } = await run.connect(device)
  const begin = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - (MINUTES + 1) * MINUTE_MS
  const wanted = new Map<number, Bucket>()
  const points = Array.from({ length: POINTS }, (_, n) => {
    // Each point has a time of its own, and their order jumps back and forth: 7 and 400 have no common divisor.
    const at = begin + Math.floor((((n * 7) % POINTS) * MINUTES * MINUTE_MS) / POINTS)
    const v = Math.round(1_000 * Math.sin(n * 12.9898)) / 8
    const minute = Math.floor(at / MINUTE_MS) * MINUTE_MS
    const bucket = wanted.get(minute) ?? { count: 0, min: v, max: v, sum: 0 }
    wanted.set(minute, bucket)
    bucket.count++
    bucket.sum += v
    bucket.min = Math.min(bucket.min, v)
    bucket.max = Math.max(bucket.max, v)
    return { v, timestamp: new Date(at).toISOString() }
  })
  for (let at = 0; at < POINTS; at += 50) await publish('telemetry', points.slice(at, at + 50))
  const range = `from=${new Date(begin).toISOString()}&to=${new Date(begin + MINUTES * MINUTE_MS).toISOString()}`
  const path = `/telemetry/${device.id}/history?metric=v&interval=1m&${range}`
  const found = await run.until(`${POINTS} points in buckets`, async () => {
    const rows = rowsOf((await run.rest.get(path)).body)
    return rows.reduce((sum, row) => sum + Number(row['count'] ?? 0), 0) === POINTS ? rows : undefined
  })
  for (const row of found) expectSameBucket(row, wanted.get(Date.parse(String(row['time']))))
}

function expectSameBucket(row: JsonObject, wanted: Bucket | undefined): void {
  if (wanted === undefined) throw new UnmetCheck('a bucket exists where there are no points', row)
  const { count, min, max, sum } = wanted
  const isNear = (name: string, value: number): boolean => Math.abs(Number(row[name]) - value) < 1e-9
  if (
    Number(row['count']) !== count ||
    !isNear('min', min) ||
    !isNear('max', max) ||
    !isNear('avg', sum / count)
  )
    throw new UnmetCheck(
      `a bucket should have count ${count}, min ${min}, max ${max}, avg ${sum / count}`,
      row,
    )
}
