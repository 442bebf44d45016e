// Logs and events of a device, read from a whole service while its parts are killed.
import { expect } from 'vitest'
import { type Client, createClient, RefusalError } from '../../schemas/client.ts'
import { applied, type Service, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

const ROUNDS = 30

let service: Service
let admin: Rest
let fleet: Client

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
  fleet = createClient({ baseUrl: service.httpUrl, token: admin.token })
})

type Row = Readonly<Record<string, unknown>>
type List = 'listDeviceLogs' | 'listDeviceEvents'

/** Resolves with the entries of all pages, oldest first, or with undefined while ClickHouse is away. */
async function all(list: List, deviceId: string): Promise<readonly Row[] | undefined> {
  const rows: Row[] = []
  try {
    for await (const { data } of fleet.pages[list]({ device_id: deviceId, query: { limit: 7 } }))
      rows.push(...data)
  } catch (error) {
    if (error instanceof RefusalError && error.status === 503) return undefined
    throw error
  }
  return rows.toReversed()
}

test('log lines and status moves are stored once each, although service and database are killed', async () => {
  const token = await registerDevice(admin, 'history-1')
  const client = await connectDevice(service, 'history-1', token, { reconnectPeriod: 100 })
  const say = (report: unknown, suffix: string) => publish(client, 'history-1', report, suffix)
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
    const found = await all('listDeviceLogs', 'history-1')
    return found?.at(-1)?.['message'] === last && found
  })
  const lines = logs.map(({ message }) => message)
  // A message whose acknowledgement was lost is sent again and is then another message.
  const again = new Set(lines)
  expect([...again]).toEqual(Array.from({ length: ROUNDS }, (_, n) => [`a${n}`, `b${n}`]).flat())
  expect(lines.length - again.size).toBeLessThanOrEqual(2)
  const moves = await until('the timeline', async () => {
    const found = await all('listDeviceEvents', 'history-1')
    return found !== undefined && found.length >= 2 * ROUNDS && found
  })
  const steps = moves.map(({ data }) => data as Row)
  for (const [i, { from }] of steps.entries()) expect(from).toBe(steps[i - 1]?.['to'] ?? null)
  expect(steps.at(-1)).toMatchObject({ from: 'offline', to: 'online' })
  await client.endAsync(true)
})

test('logs are filtered by level, and an invalid log message becomes a dead letter', async () => {
  const token = await registerDevice(admin, 'history-2')
  const client = await connectDevice(service, 'history-2', token)
  const levels = ['debug', 'info', 'warn', 'error', 'fatal']
  await publish(
    client,
    'history-2',
    levels.map((level) => ({ level, message: level, fields: { deep: [1] } })),
    'log',
  )
  await publish(client, 'history-2', { level: 'loud', message: '' }, 'log')
  await until('the log', async () => (await all('listDeviceLogs', 'history-2'))?.length === levels.length)
  const { data } = await fleet.listDeviceLogs({ device_id: 'history-2', query: { level: 'warn,fatal' } })
  expect(data).toEqual([
    expect.objectContaining({ level: 'fatal', message: 'fatal', logger: null, fields: { deep: [1] } }),
    expect.objectContaining({ level: 'warn' }),
  ])
  const letters = await fleet.listDeadLetters({ query: { device_id: 'history-2' } })
  expect(letters.data).toEqual([
    expect.objectContaining({ topic: 'fleet/history-2/log', reason: 'bad_level' }),
  ])
  await client.endAsync(true)
})

test('a read after the acknowledgement of a message shows it, or its timestamp tells that it is older', async () => {
  const token = await registerDevice(admin, 'history-3')
  const client = await connectDevice(service, 'history-3', token)
  for (let n = 1; n <= 20; n++) {
    const timestamp = new Date().toISOString()
    await publish(client, 'history-3', { timestamp, n })
    await applied(async () => {
      const { body } = await admin.get('/telemetry/history-3')
      expect(body).toMatchObject({ data: { n }, timestamp })
    })
  }
  await client.endAsync(true)
})
