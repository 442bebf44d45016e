import { expect, test } from 'vitest'
import type { JsonObject } from '../../../schemas/json.ts'
import { type CommandHandler, Commands } from './commands.ts'
import { type DeviceStorage, memoryStorage } from './storage.ts'

const NOW = Date.UTC(2026, 0, 1)

async function open(
  storage: DeviceStorage = memoryStorage(),
  now = () => NOW,
  arrives: () => Promise<void> = () => Promise.resolve(),
) {
  const acks: JsonObject[] = []
  const failures: unknown[] = []
  const commands = await Commands.open(storage, {
    now,
    send: (ack) => {
      acks.push(ack)
      return arrives()
    },
    failed: (error) => failures.push(error),
  })
  const statuses = () => acks.map(({ request_id: id, status }) => `${id} ${status}`)
  return { storage, commands, acks, statuses, failures }
}

const order = (id: string, over: JsonObject = {}): JsonObject => ({
  request_id: id,
  command: 'dock',
  data: { bay: 3 },
  ...over,
})

/** Lets what is ready to run, run. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

test('a command is carried out, and its result is told', async () => {
  const { commands, acks } = await open()
  commands.handle('dock', async ({ bay }, { requestId, expiresAt }) => ({
    bay: bay ?? null,
    requestId,
    expiresAt: expiresAt ?? null,
  }))
  await commands.take(order('c1', { expires_at: '2026-01-01T00:01:00.000Z' }))
  await settle()
  expect(acks).toEqual([
    { request_id: 'c1', status: 'acked' },
    {
      request_id: 'c1',
      status: 'completed',
      result: { bay: 3, requestId: 'c1', expiresAt: '2026-01-01T00:01:00.000Z' },
      executed_at: '2026-01-01T00:00:00.000Z',
    },
  ])
})

test('one that is delivered twice is carried out once and answered twice, also after a restart', async () => {
  let runs = 0
  const handler: CommandHandler = () => void runs++
  const first = await open()
  first.commands.handle('dock', handler)
  await first.commands.take(order('c1'))
  await settle()
  await first.commands.take(order('c1'))
  expect(first.statuses()).toEqual(['c1 acked', 'c1 completed', 'c1 completed'])
  const second = await open(first.storage)
  second.commands.handle('dock', handler)
  await second.commands.take(order('c1'))
  expect(second.statuses()).toEqual(['c1 completed'])
  expect(runs).toBe(1)
})

test('one that is still running is not begun again, although hundreds have ended meanwhile', async () => {
  const { commands } = await open()
  let runs = 0
  commands.handle('dock', () => {
    runs++
    return new Promise<undefined>(() => {})
  })
  commands.handle('beep', () => undefined)
  await commands.take(order('c1', { priority: 'critical' }))
  for (let i = 0; i < 300; i++) await commands.take(order(`b${i}`, { command: 'beep', priority: 'critical' }))
  await settle()
  await commands.take(order('c1', { priority: 'critical' }))
  await settle()
  expect(runs).toBe(1)
})

test('one that a restart interrupted has failed and is not begun again', async () => {
  const first = await open()
  first.commands.handle('dock', () => new Promise(() => {}))
  await first.commands.take(order('c1'))
  await settle()
  const second = await open(first.storage)
  second.commands.handle('dock', () => expect.unreachable())
  await second.commands.take(order('c1'))
  expect(second.acks).toMatchObject([{ status: 'failed', error: { code: 'INTERRUPTED' } }])
})

test('what is expired, unknown or malformed is not carried out', async () => {
  const { commands, acks } = await open()
  commands.handle('dock', () => expect.unreachable())
  await commands.take(order('c1', { expires_at: '2025-12-31T23:59:59.000Z' }))
  await commands.take(order('c2', { command: 'fly' }))
  for (const odd of [{}, { request_id: 'c3' }, { request_id: 7, command: 'dock' }]) await commands.take(odd)
  expect(acks).toMatchObject([
    { request_id: 'c1', status: 'rejected', error: { code: 'EXPIRED' } },
    {
      request_id: 'c2',
      status: 'rejected',
      error: { code: 'UNKNOWN_COMMAND', message: 'commands of this device: dock' },
    },
  ])
})

test('a handler that throws has failed, with its own code if it has one', async () => {
  const { commands, acks } = await open()
  commands.handle('dock', () => {
    throw Object.assign(new Error('the bay is taken'), { code: 'BAY_TAKEN' })
  })
  await commands.take(order('c1'))
  await settle()
  expect(acks.at(-1)).toMatchObject({
    status: 'failed',
    error: { code: 'BAY_TAKEN', message: 'the bay is taken' },
  })
})

test('commands run one after the other, and a critical one at once', async () => {
  const { commands, statuses } = await open()
  const finish = new Map<string, () => void>()
  commands.handle(
    'dock',
    (_, { requestId }) => new Promise<void>((resolve) => finish.set(requestId, resolve)),
  )
  commands.handle('stop', () => undefined)
  await commands.take(order('c1'))
  await commands.take(order('c2'))
  await commands.take(order('c3', { command: 'stop', priority: 'critical' }))
  await settle()
  expect([...finish.keys()]).toEqual(['c1'])
  expect(statuses().at(-1)).toBe('c3 completed')
  finish.get('c1')?.()
  await settle()
  expect([...finish.keys()]).toEqual(['c1', 'c2'])
})

test('a cancelled command is told to stop and answers no more; one that had to wait never begins', async () => {
  const { commands, statuses } = await open()
  let wasTold = false
  commands.handle('dock', (_, { signal }) => {
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        wasTold = true
        resolve('too late')
      })
    })
  })
  await commands.take(order('c1'))
  await commands.take(order('c2'))
  await settle()
  for (const id of ['c2', 'c1'])
    await commands.take({ request_id: `${id}_cancel`, command: '$cancel', data: { request_id: id } })
  await settle()
  expect(wasTold).toBe(true)
  expect(statuses()).toEqual(['c1 acked', 'c2 acked'])
})

test('a command without a handler of its own goes to the one for others, with its name', async () => {
  const { commands, acks } = await open()
  commands.handle('dock', () => 'docked')
  commands.handleOthers((data, { command }) => ({ command, data }))
  await commands.take(order('c1'))
  await commands.take(order('c2', { command: 'fly', data: { to: 'roof' } }))
  await settle()
  const results = acks.flatMap(({ status, result }) => (status === 'completed' ? [result] : []))
  expect(results).toEqual(['docked', { command: 'fly', data: { to: 'roof' } }])
})

test('progress after the end of a command is not told, and does not replace its result', async () => {
  const { storage, commands, statuses } = await open()
  let report = () => {}
  commands.handle('dock', (_, { progress }) => {
    report = () => progress(99)
  })
  await commands.take(order('c1'))
  await settle()
  report()
  await commands.take(order('c1'))
  await commands.take(order('c2', { command: 'unknown' }))
  expect(statuses()).toEqual(['c1 acked', 'c1 completed', 'c1 completed', 'c2 rejected'])
  const after = await open(storage)
  await after.commands.take(order('c1'))
  expect(after.statuses()).toEqual(['c1 completed'])
})

test('progress is told although the clock was set back by an hour', async () => {
  let now = NOW
  const { commands, statuses } = await open(memoryStorage(), () => now)
  commands.handle('dock', (_, { progress }) => {
    for (const step of [0, 500, -3_600_000]) {
      now += step
      progress(50)
    }
  })
  await commands.take(order('c1'))
  await settle()
  expect(statuses()).toEqual(['c1 acked', 'c1 in_progress', 'c1 in_progress', 'c1 completed'])
})

test('a command that could not be stored is carried out when it is delivered again', async () => {
  const storage = memoryStorage()
  let isFull = true
  const write = (name: string, value: Uint8Array) =>
    isFull ? Promise.reject(new Error('no space left on device')) : storage.write(name, value)
  const { commands, statuses } = await open({ ...storage, write })
  commands.handle('dock', () => undefined)
  await expect(commands.take(order('c1'))).rejects.toThrow('no space left')
  isFull = false
  await commands.take(order('c1'))
  await settle()
  expect(statuses()).toEqual(['c1 acked', 'c1 completed'])
})

test('a command that was carried out is told as completed although its result could not be stored', async () => {
  const storage = memoryStorage()
  let isFull = false
  const write = (name: string, value: Uint8Array) =>
    isFull ? Promise.reject(new Error('no space left on device')) : storage.write(name, value)
  const { commands, statuses, failures } = await open({ ...storage, write })
  commands.handle('dock', () => {
    isFull = true
  })
  await commands.take(order('c1'))
  await settle()
  await commands.take(order('c2', { command: 'fly' }))
  expect(statuses()).toEqual(['c1 acked', 'c1 completed', 'c2 rejected'])
  expect(failures.map(String)).toEqual(['Error: no space left on device', 'Error: no space left on device'])
})

test('answers that a power cut kept from the service are given after the next connect, once', async () => {
  const unreachable = () => new Promise<void>(() => {})
  const first = await open(memoryStorage(), () => NOW, unreachable)
  first.commands.handle('dock', () => 'docked')
  first.commands.handle('wait', () => new Promise(() => {}))
  await first.commands.take(order('c1'))
  await settle()
  await first.commands.take(order('c2', { command: 'wait' }))
  await first.commands.take(order('c3'))
  await first.commands.take({ request_id: 'c4', command: '$cancel', data: { request_id: 'c3' } })
  await settle()

  const second = await open(first.storage)
  second.commands.connected()
  second.commands.connected()
  expect(second.acks).toMatchObject([
    { request_id: 'c1', status: 'completed', result: 'docked' },
    { request_id: 'c2', status: 'failed', error: { code: 'INTERRUPTED' } },
  ])
  await settle()
  // Stored along with the next command.
  await second.commands.take(order('c5', { command: 'fly' }))
  const third = await open(first.storage)
  third.commands.connected()
  expect(third.statuses()).toEqual(['c5 rejected'])
})
