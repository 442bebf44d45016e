import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { type BridgeMessage, Delivery } from './delivery.ts'
import { openRings } from './rings.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleet-delivery-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const BOUNDS = { bytesMax: 1024 * 1024, ageMsMax: 1e9 }
const message = (n: number): BridgeMessage => ({ suffix: 'telemetry', body: { n }, qos: 1 })

test('kept messages are sent by priority, even in the next run, and new messages are sent at once', async () => {
  const clock = new FakeClock()
  const ports = {
    now: () => clock.now(),
    failed: (error: unknown) => expect.fail(String(error)),
  }
  const open = async (priorities: readonly ('high' | 'normal' | 'low')[]) => {
    const sent: unknown[] = []
    let isConnected = false
    const delivery = new Delivery({
      ...{ isConnected: () => isConnected, clock, drainHz: 10, failed: ports.failed },
      publish: async ({ body }) => void sent.push(body['n']),
    })
    delivery.useRings(await openRings(folder, { ...BOUNDS, priorities: new Set(priorities) }, ports))
    const connect = () => {
      isConnected = true
      delivery.connected()
    }
    return { delivery, sent, connect }
  }
  const before = await open(['high', 'normal', 'low'])
  before.delivery.send(message(1), 'low')
  before.delivery.send(message(2), 'normal')
  before.delivery.send(message(3), 'high')
  await before.delivery.close()
  expect(before.sent).toEqual([])
  expect(existsSync(join(folder, 'messages-low'))).toBe(true)

  // The priority of the routes has changed, and messages of the earlier priorities must still be sent.
  const after = await open(['normal'])
  after.connect()
  after.delivery.send(message(4), 'normal')
  await expect
    .poll(() => {
      clock.pass(1_000)
      return after.sent
    })
    .toEqual([4, 3, 2, 1])
  expect(after.delivery.bufferedBytes).toBe(0)
  await after.delivery.close()
})

test('messages that are kept while too many are being sent follow without another connect', async () => {
  const clock = new FakeClock()
  const ports = { now: () => clock.now(), failed: (error: unknown) => expect.fail(String(error)) }
  const sent: unknown[] = []
  let acknowledge = () => {}
  const acknowledged = new Promise<void>((resolve) => {
    acknowledge = resolve
  })
  const delivery = new Delivery({
    ...{ isConnected: () => true, clock, drainHz: 1_000, failed: ports.failed },
    publish: async ({ body }) => {
      await acknowledged
      sent.push(body['n'])
    },
  })
  delivery.useRings(await openRings(folder, { ...BOUNDS, priorities: new Set(['normal'] as const) }, ports))
  for (let n = 0; n < 1_010; n++) delivery.send(message(n), 'normal')
  expect(delivery.bufferedBytes).toBeGreaterThan(0)
  acknowledge()
  await expect
    .poll(() => {
      clock.pass(1_000)
      return sent.length
    })
    .toBe(1_010)
  await delivery.close()
})

test('kept messages are sent although one of them had to be given up, and although the disk could not be read', async () => {
  const clock = new FakeClock()
  const ports = { now: () => clock.now(), failed: (error: unknown) => expect.fail(String(error)) }
  const sent: unknown[] = []
  const failures: string[] = []
  let refusals = 1
  let isConnected = false
  const delivery = new Delivery({
    ...{ isConnected: () => isConnected, clock, drainHz: 10 },
    publish: async ({ body }) => {
      // The device has no room for the message at this moment.
      if (refusals-- > 0) throw new Error('no room')
      sent.push(body['n'])
    },
    failed: (error) => failures.push(String(error)),
  })
  delivery.useRings(await openRings(folder, { ...BOUNDS, priorities: new Set(['normal'] as const) }, ports))
  for (const n of [1, 2]) delivery.send(message(n), 'normal')
  await delivery.close()
  const path = join(folder, 'messages', readdirSync(join(folder, 'messages'))[0] ?? '')
  renameSync(path, join(folder, 'aside'))
  symlinkSync(path, path)
  isConnected = true
  delivery.connected()
  await expect.poll(() => failures).toEqual([expect.stringContaining('ELOOP')])
  renameSync(join(folder, 'aside'), path)
  await expect
    .poll(() => {
      clock.pass(1_000)
      return sent
    })
    .toEqual([1, 2])
  await delivery.close()
})
