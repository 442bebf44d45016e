import { expect, test } from 'vitest'
import { Micros, Millis, parseDeviceId } from '../../../schemas/ids.ts'
import { MemoryLog } from '../../adapters/log/testing/memory.ts'
import { ITEM, readItems } from '../../domain/bundle.ts'
import { partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
import type { DeviceSession, UplinkMessage } from '../../ports/broker.ts'
import { Fault } from '../../ports/fault.ts'
import type { Bundle } from '../../ports/log.ts'
import { SimTime } from '../../testing/time.ts'
import { Ingest } from './ingest.ts'

/** A log whose appends wait until the test releases them, and fail when it says so. */
class HeldLog extends MemoryLog {
  readonly held: (() => void)[] = []
  readonly appended: Bundle[][] = []
  fault: Fault | undefined

  override async append(bundles: readonly Bundle[], latestAt: Micros): Promise<readonly number[]> {
    await new Promise<void>((resolve) => this.held.push(resolve))
    if (this.fault !== undefined) throw this.fault
    this.appended.push([...bundles])
    return super.append(bundles, latestAt)
  }
}

function session(name: string): DeviceSession & { readonly acknowledged: number[] } {
  const deviceId = parseDeviceId(name)
  if (deviceId === undefined) throw new Error('a valid id')
  const acknowledged: number[] = []
  return {
    deviceId,
    partition: partitionOf(deviceId),
    number: Micros(1),
    ip: '127.0.0.1',
    takes: () => false,
    idBytes: Buffer.from(name),
    acknowledged,
    durable: (count) => acknowledged.push(count),
  }
}

const message = (text: string): UplinkMessage => ({
  suffix: 'telemetry',
  payload: Buffer.from(text),
  qos: 1,
  retain: false,
  will: false,
})

function setUp({ isOutside = false } = {}) {
  const time = new SimTime(Millis(1_000_000))
  const log = new HeldLog()
  const fatal: Fault[] = []
  const ingest = new Ingest({
    log,
    clock: time,
    schedule: time.newIncarnation().schedule,
    fatal: (fault) => fatal.push(fault),
    isOutside,
  })
  const release = async () => {
    log.held.shift()?.()
    await time.advance(0)
  }
  return { time, log, ingest, release, fatal }
}

const itemsOf = (bundles: readonly Bundle[] | undefined) =>
  (bundles ?? []).flatMap(({ body }) => [...readItems(body)])

test('nothing is acknowledged before its append is durable, and then each session gets its count', async () => {
  const { time, ingest, release } = setUp()
  const [a, b] = [session('a'), session('b')]
  ingest.message(a, message('1'))
  ingest.message(a, message('2'))
  ingest.message(b, message('3'))
  ingest.message(a, message('4'))
  await time.advance(10)
  expect([a.acknowledged, b.acknowledged]).toEqual([[], []])
  await release()
  expect([a.acknowledged, b.acknowledged]).toEqual([[2, 1], [1]])
})

test('a sync is acknowledged once everything before it is durable, and at once if it already is', async () => {
  const { time, ingest, release } = setUp()
  const [a, b] = [session('a'), session('b')]
  ingest.sync(a)
  expect(a.acknowledged).toEqual([1])
  ingest.session(ITEM.opened, a, new Uint8Array(1))
  ingest.sync(a)
  await time.advance(10)
  ingest.sync(b)
  expect([a.acknowledged, b.acknowledged]).toEqual([[1], []])
  await release()
  expect([a.acknowledged, b.acknowledged]).toEqual([[1, 1], [1]])
})

test('messages that arrive during an append form the next one', async () => {
  const { time, log, ingest, release } = setUp()
  const a = session('a')
  ingest.message(a, message('1'))
  await time.advance(10)
  for (const text of ['2', '3', '4']) ingest.message(a, message(text))
  await release()
  await time.advance(10)
  await release()
  expect(log.appended.map((bundles) => itemsOf(bundles).length)).toEqual([1, 3])
})

/** Sends a message on `suffix` every three milliseconds, and runs `act`. Returns when appends began, and their sizes. */
async function gathered(suffix: string, act: (at: number, ingest: Ingest) => void) {
  const { time, log, ingest, release } = setUp({ isOutside: true })
  await time.advance(30)
  const begun: number[] = []
  for (let at = 0; at < 70; at++) {
    if (at % 3 === 0) ingest.message(session('a'), { ...message(String(at)), suffix })
    act(at, ingest)
    await time.advance(0)
    if (log.held.length > 0) begun.push(at)
    await release()
    await time.advance(1)
  }
  return { begun, sizes: log.appended.map((bundles) => itemsOf(bundles).length) }
}

test('messages that nobody waits for gather, and a request makes them go earlier', async () => {
  const { deviceId, partition } = session('a')
  const { begun, sizes } = await gathered('command/ack', (at, ingest) => {
    if (at === 22) void ingest.request(deviceId, partition, new Uint8Array(1))
  })
  // The first one after a pause goes at once. The request goes three milliseconds after the append before it.
  expect(begun).toEqual([0, 10, 20, 23, 33, 43, 53, 63])
  expect(sizes).toEqual([1, 3, 3, 2, 3, 4, 3, 3])
})

test('reports gather for longer, until another message has waited ten milliseconds or there are many', async () => {
  expect((await gathered('telemetry', () => {})).begun).toEqual([0, 25, 50])
  const mixed = await gathered('telemetry', (at, ingest) => {
    if (at === 37) ingest.message(session('a'), { ...message('ack'), suffix: 'command/ack' })
  })
  expect(mixed.begun).toEqual([0, 25, 37, 62])
  const payload = new Uint8Array(LIMITS.gatherBytesMax)
  const many = await gathered('telemetry', (at, ingest) => {
    if (at === 32) ingest.message(session('a'), { ...message('large'), payload })
  })
  expect(many.begun).toEqual([0, 25, 32, 57])
})

test('a failed append is retried with the same bundles, and nothing overtakes it', async () => {
  const { time, log, ingest, release } = setUp()
  const a = session('a')
  log.fault = new Fault('LOG_FULL', { retryable: true })
  ingest.message(a, message('1'))
  await time.advance(10)
  await release()
  expect(ingest.fault()?.code).toBe('LOG_FULL')
  await expect(ingest.request(a.deviceId, a.partition, new Uint8Array(1))).rejects.toThrow('LOG_FULL')
  ingest.message(a, message('2'))
  log.fault = undefined
  await time.advance(1_000)
  await release()
  await time.advance(10)
  await release()
  expect(ingest.fault()).toBeUndefined()
  expect(
    log.appended.flatMap((bundles) => itemsOf(bundles).map(({ payload }) => Buffer.from(payload).toString())),
  ).toEqual(['1', '2'])
  expect(a.acknowledged).toEqual([1, 1])
})

test('requests of a failed append are refused at once and never happen, and the messages around them do', async () => {
  const { time, log, ingest, release } = setUp()
  const a = session('a')
  const ask = () =>
    ingest.request(a.deviceId, a.partition, Buffer.from('request')).catch((fault) => fault.code)
  log.fault = new Fault('LOG_FULL', { retryable: true })
  ingest.message(a, message('1'))
  const first = ask()
  await time.advance(10)
  const behind = ask()
  ingest.message(a, message('2'))
  const alone = ask()
  await release()
  expect(await Promise.all([first, behind, alone, ask()])).toEqual(Array(4).fill('LOG_FULL'))
  log.fault = undefined
  for (let appends = 0; appends < 2; appends++) {
    await time.advance(1_000)
    await release()
  }
  expect(
    log.appended.flatMap((bundles) => itemsOf(bundles).map(({ payload }) => Buffer.from(payload).toString())),
  ).toEqual(['1', '2'])
  expect(a.acknowledged).toEqual([1, 1])
  expect(ingest.counts().pendingBytes).toBe(0)
})

test('a fault is cleared even if the failed append had nothing but a request', async () => {
  const { time, log, ingest, release } = setUp()
  const a = session('a')
  log.fault = new Fault('LOG_FULL', { retryable: true })
  const refused = ingest.request(a.deviceId, a.partition, new Uint8Array(1)).catch((fault) => fault.code)
  await time.advance(10)
  await release()
  expect(await refused).toBe('LOG_FULL')
  expect(ingest.fault()?.code).toBe('LOG_FULL')
  log.fault = undefined
  await time.advance(5_000)
  await release()
  expect(ingest.fault()).toBeUndefined()
  const taken = ingest.request(a.deviceId, a.partition, new Uint8Array(1))
  await time.advance(10)
  await release()
  await taken
})

test('receive times are unique, increase, and continue after a restart with an older clock', async () => {
  const { time, log, ingest, release } = setUp()
  const times = Array.from({ length: 1_000 }, () => ingest.nextAt())
  expect(new Set(times).size).toBe(1_000)
  expect([...times].sort((x, y) => x - y)).toEqual(times)
  ingest.message(session('a'), message('1'))
  await time.advance(10)
  await release()
  const earlier = new SimTime(Millis(5))
  const again = new Ingest({
    log,
    clock: earlier,
    schedule: earlier.newIncarnation().schedule,
    fatal: () => {},
  })
  expect(again.nextAt()).toBeGreaterThan(log.latestAt())
})

test('an item is read back as it was written', async () => {
  const { time, log, ingest, release } = setUp()
  const a = session('robot-1')
  ingest.message(a, { ...message('{"x":1}'), qos: 2, retain: true, will: true, suffix: 'status' })
  ingest.session(ITEM.opened, a, Buffer.from('o'))
  await time.advance(10)
  await release()
  const [first, second] = itemsOf(log.appended[0])
  expect(first).toMatchObject({ kind: ITEM.message, flags: 2 | 4 | 8 })
  expect(Buffer.from(first?.id ?? []).toString()).toBe('robot-1')
  expect(Buffer.from(first?.suffix ?? []).toString()).toBe('status')
  expect(Buffer.from(first?.payload ?? []).toString()).toBe('{"x":1}')
  expect(second?.kind).toBe(ITEM.opened)
})

test('a full bundle closes its append, so that an append has one bundle per partition', async () => {
  const { time, log, ingest, release } = setUp()
  const a = session('a')
  const large = { ...message(''), payload: Buffer.alloc(200_000) }
  for (let i = 0; i < 10; i++) ingest.message(a, large)
  for (let appends = 0; appends < 3; appends++) {
    await time.advance(10)
    await release()
  }
  expect(log.appended.map((bundles) => [bundles.length, itemsOf(bundles).length])).toEqual([
    [1, 4],
    [1, 4],
    [1, 2],
  ])
  expect(a.acknowledged).toEqual([4, 4, 2])
})

test('a request that opens a new append waits for that append', async () => {
  const { time, ingest, release } = setUp()
  const a = session('a')
  const large = { ...message(''), payload: Buffer.alloc(200_000) }
  for (let i = 0; i < 4; i++) ingest.message(a, large)
  let isDurable = false
  const durable = ingest.request(a.deviceId, a.partition, Buffer.from('wish')).then(() => {
    isDurable = true
  })
  await time.advance(10)
  await release()
  expect([a.acknowledged, isDurable]).toEqual([[4], false])
  await time.advance(10)
  await release()
  await durable
})

test('while the log does not answer, new requests are refused, and closing does not wait for it', async () => {
  const { time, log, ingest, release } = setUp()
  const a = session('a')
  const under = ingest.request(a.deviceId, a.partition, Buffer.from('under way'))
  await time.advance(10)
  const behind = ingest.request(a.deviceId, a.partition, Buffer.from('behind')).catch((fault) => fault.code)
  ingest.message(a, message('1'))
  ingest.advance()
  expect(ingest.fault()).toBeUndefined()
  await time.advance(LIMITS.appendStalledMs + 1)
  ingest.advance()
  expect([ingest.fault()?.code, await behind]).toEqual(['LOG_UNAVAILABLE', 'LOG_UNAVAILABLE'])
  await release()
  await under
  await time.advance(10)
  expect([ingest.fault(), log.held.length]).toEqual([undefined, 1])
  const closed = ingest.close()
  await time.advance(LIMITS.ingestStopTimeoutMs + 1)
  await closed
  expect(a.acknowledged).toEqual([])
})

test('an append has a largest size, the rest goes with the next one, and each device keeps its order', async () => {
  const { time, log, ingest, release } = setUp()
  const sessions = Array.from({ length: 25 }, (_, i) => session(`device-${i}`))
  const large = (text: string) => ({ ...message(''), payload: Buffer.alloc(200_000, text) })
  for (let i = 0; i < 4; i++) for (const one of sessions) ingest.message(one, large(`${i}`))
  for (let appends = 0; appends < 4; appends++) {
    await time.advance(10)
    await release()
  }
  const sizes = log.appended.map((bundles) => bundles.reduce((sum, { body }) => sum + body.length, 0))
  expect([sizes.length, Math.max(...sizes) <= LIMITS.commitBytesMax + LIMITS.packetBytesMax]).toEqual([
    3,
    true,
  ])
  const sent = new Map<string, string>()
  for (const { id, payload } of itemsOf(log.appended.flat())) {
    const name = Buffer.from(id).toString()
    sent.set(name, (sent.get(name) ?? '') + String.fromCharCode(payload[0] ?? 0))
  }
  expect([...sent.values()]).toEqual(Array(25).fill('0123'))
  const acknowledged = sessions.map((one) => one.acknowledged.reduce((sum, count) => sum + count))
  expect([acknowledged, ingest.counts().pendingBytes]).toEqual([Array(25).fill(4), 0])
})

test('requests in an append that waits behind a failing one are refused, too', async () => {
  const { time, log, ingest, release } = setUp()
  const a = session('a')
  log.fault = new Fault('LOG_FULL', { retryable: true })
  ingest.message(a, message('1'))
  await time.advance(10)
  const refused = ingest.request(a.deviceId, a.partition, Buffer.from('wish')).catch((fault) => fault.code)
  const large = { ...message(''), payload: Buffer.alloc(200_000, 'x') }
  for (let i = 0; i < 50; i++) ingest.message(a, large)
  await release()
  expect(await refused).toBe('LOG_FULL')
  log.fault = undefined
  for (let appends = 0; appends < 15; appends++) {
    await time.advance(1_000)
    await release()
  }
  expect(itemsOf(log.appended.flat()).map(({ kind }) => kind)).toEqual(Array(51).fill(ITEM.message))
  expect([a.acknowledged.reduce((sum, count) => sum + count), ingest.counts().pendingBytes]).toEqual([51, 0])
})

test('a log that takes nothing more ends the process; nothing is acknowledged, and closing does not wait', async () => {
  const { time, log, ingest, release, fatal } = setUp()
  const a = session('a')
  log.fault = new Fault('LOG_UNAVAILABLE', { retryable: false })
  ingest.message(a, message('1'))
  const refused = ingest.request(a.deviceId, a.partition, new Uint8Array(1)).catch((fault) => fault.code)
  await time.advance(10)
  await release()
  ingest.message(a, message('2'))
  await time.advance(60_000)
  expect([fatal.length, await refused, a.acknowledged, log.held.length]).toEqual([
    1,
    'LOG_UNAVAILABLE',
    [],
    0,
  ])
  await ingest.close()
})

test('durableUpTo tells up to when everything received is durable', async () => {
  const { time, ingest, release } = setUp()
  expect(ingest.durableUpTo()).toBe(time.now())
  const receivedAt = time.now()
  ingest.message(session('a'), message('1'))
  await time.advance(500)
  ingest.message(session('a'), message('2'))
  expect(ingest.durableUpTo()).toBe(receivedAt)
  await release()
  expect(ingest.durableUpTo()).toBe(receivedAt + 500)
  await time.advance(10)
  await release()
  expect(ingest.durableUpTo()).toBe(time.now())
})

test('after the clock is set back, time goes on at half its pace until the clock has caught up', async () => {
  const { time, ingest } = setUp()
  const before = ingest.now()
  ingest.nextAt()
  time.set(-60_000)
  const pass = async (ms: number) => {
    for (let gone = 0; gone < ms; gone += 250) {
      await time.advance(250)
      ingest.advance()
    }
  }
  await pass(40_000)
  expect(ingest.now()).toBe(before + 20_000)
  await pass(100_000)
  expect(Math.abs(ingest.now() - time.now())).toBeLessThanOrEqual(1_000)
  expect(ingest.nextAt()).toBeGreaterThan(before * 1000)
})
