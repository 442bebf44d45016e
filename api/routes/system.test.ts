import { expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { Partition } from '../../schemas/ids.ts'
import { openHarness } from '../testing/rest.ts'

const SYSTEM = 'GET /api/v1/system'

test('an admin reads partitions with owners, the log, waiting work, sockets and rates', async () => {
  const { request, login } = openHarness()
  const { token } = await login('admin')
  const { status, body } = await request(SYSTEM, { token })
  expect(status).toBe(200)
  expect(body.partitions).toHaveLength(64)
  expect(body.partitions[63]).toEqual({ id: 63, owner: 'local', lag_ms: 0 })
  expect(body.nodes).toMatchObject([{ node: 'local', answers: true, leads: true, partitions: 64 }])
  expect(body.nodes[0].metrics['fleet_devices{status="online"}']).toBe(0)
  expect(Object.keys(body.nodes[0].metrics).filter((name) => name.includes('_bucket'))).toEqual([])
  expect(body.log).toEqual({ bytes: 0, bytes_max: LIMITS.logBytesMax, oldest_at: null })
  expect(body.telemetry).toMatchObject({ rows_waiting: 0, history_rows_waiting: 0 })
  expect(body.rates.lag_ms).toBe(0)
})

test('a node that does not answer is named, and its partitions have no owner and no lag', async () => {
  const { request, login, engine } = openHarness()
  const { token } = await login('admin')
  const state = await engine.system()
  const [figures] = state.nodes.flatMap((node) => node.figures ?? [])
  if (figures === undefined) throw new Error('the node did not answer')
  const partitions = [{ partition: Partition(5), lagMs: 1234.6 }]
  const samples = { fleet_clickhouse_rows_waiting: 7, fleet_history_rows_waiting: 3, fleet_ws_connections: 2 }
  const a = { address: 'a', figures: { ...figures, partitions, samples, insertP99Ms: 30, pointsPerSec: 8 } }
  const b = { ...a, address: 'b', figures: { ...a.figures, partitions: [], insertP99Ms: 50 } }
  engine.system = async () => ({ nodes: [a, b, { address: 'c', figures: undefined }], log: undefined })
  const { body } = await request(SYSTEM, { token })
  expect(body.partitions[5]).toEqual({ id: 5, owner: 'a', lag_ms: 1235 })
  expect(body.partitions[6]).toEqual({ id: 6, owner: null, lag_ms: null })
  expect(body.nodes[2]).toMatchObject({ node: 'c', answers: false, version: null, started_at: null })
  expect(body.telemetry).toEqual({ rows_waiting: 14, history_rows_waiting: 3, insert_p99_ms: 50 })
  expect(body.sockets.open).toBe(4)
  expect(body.rates).toMatchObject({ points_per_sec: 16, lag_ms: 1235 })
  expect(body.log).toBeNull()
})
