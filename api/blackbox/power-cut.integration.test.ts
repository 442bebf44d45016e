// A power cut of the machine, with everything settled: the disk is found as the file system had written it, without what
// was only in memory. All that was acknowledged and left the log by then is in ClickHouse all the same.
import { basename, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type CrashDisk, mountCrashDisk } from '../../engine/adapters/testing/crash-disk.ts'
import { passed, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { historyOf, type Rest, registerDevice } from './testing/service-rest.ts'

const MESSAGES = 50
/** A checkpoint is due every five seconds. */
const CHECKPOINT_MS = 6_000
const ACTIONS = ['editDevice', 'setDesiredState', 'sendCommand']

const harness = new ServiceHarness()
let disk: CrashDisk | undefined

afterAll(async () => {
  await harness.end()
  disk?.unmount()
  await harness.close()
})

test('a power cut takes nothing acknowledged, though the log is done with it', async ({ skip }) => {
  disk = mountCrashDisk(harness.newFolder())
  if (disk === undefined) return skip('only root on Linux may mount a disk')
  const service = await harness.start({ FLEET_DATA_DIR: join(disk.path, 'data') })
  const admin = await service.admin()
  const from = Date.now()
  const client = await connectDevice(service, 'd', await registerDevice(admin, 'd'))
  for (let n = 0; n < MESSAGES; n++) await publish(client, 'd', { n })
  expect((await admin.call('PATCH', '/devices/d', { name: 'edited' })).status).toBe(200)
  expect((await admin.call('PUT', '/shadows/d/desired', { on: true })).status).toBe(200)
  expect((await admin.post('/commands/d', { command: 'restart' })).status).toBe(202)
  const before = await until('everything is in ClickHouse', async () => {
    const seen = await found(admin, from)
    return seen.points === MESSAGES && ACTIONS.every((action) => seen.actions.includes(action)) && seen
  })
  await passed(CHECKPOINT_MS)

  const data = join(disk.cut(), basename(service.dataDir))
  service.kill('SIGKILL')
  await service.ended
  const after = await harness.start({ FLEET_DATA_DIR: data })
  const back = after.nobody.as(admin.token ?? '')
  await until('ClickHouse', async () => (await back.get('/audit')).status === 200)
  // No message is read again from the log, so what is not there by now will not come.
  const seen = await until('an answer', () => found(back, from))
  expect(seen.points).toBe(MESSAGES)
  expect(seen.actions).toEqual(expect.arrayContaining(before.actions))
  expect(seen.events).toEqual(expect.arrayContaining(before.events))
})

async function found(admin: Rest, from: number) {
  const range = { metric: 'n', interval: '1m', from: from - 60_000, to: Date.now() + 60_000 }
  const buckets = await historyOf(admin, 'd', range)
  const listed = async (path: string, textOf: (row: Readonly<Record<string, unknown>>) => string) => {
    const rows = (await admin.get(path)).body['data']
    return Array.isArray(rows) ? rows.map(textOf) : []
  }
  return {
    points: buckets.reduce((sum, { count }) => sum + count, 0),
    actions: await listed('/audit?per_page=100', (row) => String(row['action'])),
    events: await listed('/devices/d/events?per_page=100', (row) => JSON.stringify(row)),
  }
}
