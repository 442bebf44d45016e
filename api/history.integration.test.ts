// What a device logged and what happened to it, asked of the whole service while its parts are killed.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDevice, publish } from './service-clients-harness.ts'
import { type Service, ServiceHarness, until } from './service-harness.ts'
import { type Rest, registerDevice } from './service-rest-harness.ts'

const ROUNDS = 30

const harness = new ServiceHarness()
let service: Service
let admin: Rest

beforeAll(async () => {
  service = await harness.start()
  admin = await service.admin()
})
afterAll(async () => {
  await harness.close()
})

type Row = Readonly<Record<string, unknown>>

/** All pages, oldest first; undefined while ClickHouse is away. */
async function all(path: string): Promise<readonly Row[] | undefined> {
  const rows: Row[] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await admin.get(`${path}?limit=7${cursor}`)
    if (status === 503) return undefined
    expect(status).toBe(200)
    // The schema of the answer.
    rows.push(...(body['data'] as readonly Row[]))
    if (body['next_cursor'] === null) return rows.toReversed()
    cursor = `&cursor=${body['next_cursor']}`
  }
}

test('lines of the log and status moves are there once each, though service and database are killed', async () => {
  const token = await registerDevice(admin, 'h1')
  const client = await connectDevice(service, 'h1', token, { reconnectPeriod: 100 })
  const say = (report: unknown, suffix: string) => publish(client, 'h1', report, suffix)
  for (let round = 0; round < ROUNDS; round++) {
    await say('offline', 'status')
    await say(
      [
        { level: 'error', message: `a${round}` },
        { level: 30, message: `b${round}` },
      ],
      'log',
    )
    await say('online', 'status')
    if (round === 10) {
      service.kill('SIGKILL')
      await service.ended
      service = await service.again()
    }
    if (round === 20) process.kill(service.databasePid(), 'SIGKILL')
  }
  const last = `b${ROUNDS - 1}`
  const logs = await until('the log', async () => {
    const found = await all('/devices/h1/logs')
    return found?.at(-1)?.['message'] === last && found
  })
  const lines = logs.map(({ message }) => message)
  // A message whose acknowledgement was lost is sent again: it is another message.
  const again = new Set(lines)
  expect([...again]).toEqual(Array.from({ length: ROUNDS }, (_, n) => [`a${n}`, `b${n}`]).flat())
  expect(lines.length - again.size).toBeLessThanOrEqual(2)
  const moves = await until('the timeline', async () => {
    const found = await all('/devices/h1/events')
    return found !== undefined && found.length >= 2 * ROUNDS && found
  })
  const steps = moves.map(({ data }) => data as Row)
  for (const [i, { from }] of steps.entries()) expect(from).toBe(steps[i - 1]?.['to'] ?? 'provisioning')
  expect(steps.at(-1)).toMatchObject({ from: 'offline', to: 'online' })
  await client.endAsync(true)
})

test('the log is filtered by level, and what is no log is parked', async () => {
  const token = await registerDevice(admin, 'h2')
  const client = await connectDevice(service, 'h2', token)
  const levels = ['debug', 'info', 'warn', 'error', 'fatal']
  await publish(
    client,
    'h2',
    levels.map((level) => ({ level, message: level, fields: { deep: [1] } })),
    'log',
  )
  await publish(client, 'h2', { level: 'loud', message: '' }, 'log')
  await until('the log', async () => (await all('/devices/h2/logs'))?.length === levels.length)
  const { body } = await admin.get('/devices/h2/logs?level=warn,fatal')
  expect(body['data']).toEqual([
    expect.objectContaining({ level: 'fatal', message: 'fatal', logger: null, fields: { deep: [1] } }),
    expect.objectContaining({ level: 'warn' }),
  ])
  const letters = await admin.get('/dead-letters?device_id=h2')
  expect(letters.body['data']).toEqual([
    expect.objectContaining({ topic: 'fleet/h2/log', reason: 'bad_level' }),
  ])
  await client.endAsync(true)
})
