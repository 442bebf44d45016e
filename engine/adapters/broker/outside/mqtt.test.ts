import { Buffer } from 'node:buffer'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Partition } from '../../../../schemas/ids.ts'
import { partitionOf } from '../../../domain/partition.ts'
import { LIMITS } from '../../../limits.ts'
import { deviceId, downlink } from '../testing/contract-world.ts'
import { MOSQUITTO } from '../testing/emqx/stand-in.ts'
import { FakeHost, until } from '../testing/fake-host.ts'
import { ALL_LANES, MqttStage } from '../testing/outside-broker.ts'

describe.skipIf(MOSQUITTO === undefined)('a broker outside', () => {
  let stage: MqttStage
  let host: FakeHost

  beforeEach(async () => {
    stage = await MqttStage.open()
    host = new FakeHost()
  })
  afterEach(() => stage.close())

  const kinds = () => host.events.map(({ kind }) => kind)

  test('a device that connects, publishes, subscribes and leaves is reported in order', async () => {
    const broker = await stage.broker(host)
    const device = await stage.device('a')
    await device.publishAsync('fleet/a/telemetry', 'one', { qos: 2 })
    await device.publishAsync('fleet/a/status', 'on', { qos: 0, retain: true })
    await device.subscribeAsync('fleet/a/command', { qos: 1 })
    await until(() => host.listeners.length === 1, 'the subscription')
    expect(broker.isConnected(deviceId('a'))).toBe(true)
    await device.endAsync()
    await until(() => host.causes('a').length === 1, 'the end')
    expect(kinds()).toEqual(['opened', 'message', 'message', 'closed'])
    expect(host.messages('a').map(({ text, qos, retain }) => [text, qos, retain])).toEqual([
      ['one', 2, false],
      ['on', 0, true],
    ])
    expect(host.causes('a')).toEqual(['disconnect'])
    const [session] = host.sessions('a')
    expect(session).toMatchObject({ deviceId: 'a', partition: partitionOf(deviceId('a')) })
    expect(session?.ip).toMatch(/127\.0\.0\.1$/)
    expect(Math.abs((session?.number ?? 0) / 1000 - Date.now())).toBeLessThan(60_000)
    expect(broker.counts()).toMatchObject({ connected: 0, admitted: 1, publishes: [1, 0, 1] })
  })

  test('a message that is not durable is not acknowledged, and comes to the next reader marked as repeated', async () => {
    host.isHolding = true
    const first = await stage.broker(host)
    const device = await stage.device('a')
    for (const text of ['1', '2', '3']) await device.publishAsync('fleet/a/telemetry', text, { qos: 1 })
    await until(() => host.texts('a').length === 3, 'the messages')
    await first.close()
    const next = new FakeHost()
    await stage.broker(next)
    await until(() => next.texts('a').length === 3, 'the same again')
    expect(next.texts('a')).toEqual(['1', '2', '3'])
    expect(next.origins).toEqual(host.origins)
    expect([...host.dups, ...next.dups]).toEqual([false, false, false, true, true, true])
    await until(() => next.isSettled, 'all to be durable')
    await device.publishAsync('fleet/a/telemetry', '4', { qos: 1 })
    await until(() => next.texts('a').length === 4, 'the next')
    expect(next.dups.at(-1)).toBe(false)
  })

  test('a lane is handed over once all that was read is acknowledged, so nothing comes twice', async () => {
    host.isHolding = true
    const first = await stage.broker(host)
    const device = await stage.device('a')
    await device.publishAsync('fleet/a/telemetry', '1', { qos: 1 })
    await until(() => host.texts('a').length === 1, 'the message')
    let isOver = false
    const over = first.handOver(ALL_LANES.map(({ partition }) => partition)).then(() => {
      isOver = true
    })
    await device.publishAsync('fleet/a/telemetry', '2', { qos: 1 })
    expect(isOver).toBe(false)
    host.isHolding = false
    host.release()
    await over
    const next = new FakeHost()
    const second = await stage.broker(next)
    await until(() => next.texts('a').length === 1, 'what came meanwhile')
    expect([host.texts('a'), next.texts('a')]).toEqual([['1'], ['2']])
    expect(host.lefts).toEqual(host.sessions('a'))
    expect([first.counts().outside?.lanesOpen, second.counts().outside?.lostSessions]).toEqual([0, 0])
    // The device's session goes on, and its end is reported here.
    await device.endAsync()
    await until(() => next.causes('a').length === 1, 'the end')
    expect(next.sessions('a')).toEqual([])
  })

  test('a process that takes a lane over is not disturbed by the one that had it', async () => {
    const first = await stage.broker(host)
    const lane = Partition(partitionOf(deviceId('a')) % ALL_LANES.length)
    const next = new FakeHost()
    const second = await stage.broker(next, [{ partition: lane }])
    await until(() => first.counts().outside?.lanesOpen === ALL_LANES.length - 1, 'the takeover')
    const device = await stage.device('a')
    await device.publishAsync('fleet/a/telemetry', '1', { qos: 1 })
    await until(() => next.texts('a').length === 1, 'the message')
    first.lost([lane])
    expect([host.texts('a'), second.counts().outside?.lanesOpen]).toEqual([[], 1])
  })

  test('lanes are read again after a restart of the broker', async () => {
    const broker = await stage.broker(host)
    await stage.emqx.restart()
    await until(() => broker.counts().outside?.lanesOpen === ALL_LANES.length, 'the lanes again', 60_000)
    const device = await stage.device('a')
    await device.publishAsync('fleet/a/telemetry', '1', { qos: 1 })
    await until(() => host.texts('a').length === 1, 'the message')
    expect(broker.counts().outside?.lostSessions).toBe(0)
  })

  test('a session that the broker has forgotten is counted and logged', async () => {
    const broker = await stage.broker(host)
    await stage.emqx.forget()
    await until(() => broker.counts().outside?.lanesOpen === ALL_LANES.length, 'the lanes again', 60_000)
    expect(broker.counts().outside?.lostSessions).toBe(ALL_LANES.length)
    expect(stage.warnings.filter((warning) => warning.includes('lost a session'))).toHaveLength(
      ALL_LANES.length,
    )
  })

  test('nothing is read while the host is congested, and everything after', async () => {
    host.congested = true
    await stage.broker(host)
    const device = await stage.device('a')
    for (let n = 0; n < 50; n++) void device.publishAsync('fleet/a/telemetry', String(n), { qos: 1 })
    await device.publishAsync('fleet/a/telemetry', 'last', { qos: 1 })
    const early = host.texts('a').length
    host.congested = false
    await until(() => host.texts('a').length === 51, 'all of it')
    expect(early).toBeLessThan(51)
    expect(host.texts('a').at(-1)).toBe('last')
  })

  // mosquitto takes seconds for two thousand acknowledgements, and many on a busy machine.
  test('the watermark rises, unless the broker may hold messages back', { timeout: 300_000 }, async () => {
    await stage.broker(host)
    const from = Date.now()
    const heardSince = (at: number) => [...host.heardUpTo.values()].filter((heard) => heard >= at).length
    await until(() => heardSince(from) === LIMITS.partitions, 'every partition')
    host.isHolding = true
    const device = await stage.device('a')
    const count = LIMITS.laneReceiveMax + 10
    for (let n = 0; n < count; n++) device.publish('fleet/a/telemetry', String(n), { qos: 1 })
    await until(
      () => new Set(host.texts('a')).size === LIMITS.laneReceiveMax - 1,
      'as much as may be unacknowledged',
      90_000,
    )
    const full = Date.now()
    const own = partitionOf(deviceId('a'))
    const { lanes, partitions } = LIMITS
    await until(() => heardSince(full) === partitions - partitions / lanes, 'the other lanes', 90_000)
    expect(host.heardUpTo.get(own)).toBeLessThan(full)
    host.isHolding = false
    host.release()
    await until(() => heardSince(full) === partitions, 'the lane again', 90_000)
    // A lane that a busy machine kept silent for too long connects again, and the broker repeats what it has no PUBACK of.
    expect(new Set(host.texts('a')).size).toBe(count)
  })

  test('messages of no device are acknowledged and counted', async () => {
    const broker = await stage.broker(host)
    for (const topic of ['ingest/1/fleet/a b/telemetry', 'ingest/1/other', 'ingest/1/fleet/a/$connected'])
      await stage.emqx.republish(topic, 'no JSON')
    await until(() => broker.counts().refusedTopics === 3, 'them to be counted')
    await until(() => broker.counts().outside?.unacknowledged === 0, 'them to be acknowledged')
    expect(host.events).toEqual([])
  })

  describe('a known device', () => {
    test('the subscriptions of a device that resumes its session are read from the broker', async () => {
      await stage.broker(host)
      const device = await stage.device('a', { clean: false })
      await device.subscribeAsync('fleet/a/#', { qos: 1 })
      await until(() => host.listeners.length === 1, 'the subscription')
      await device.endAsync()
      await stage.device('a', { clean: false })
      await until(() => host.listeners.length === 2, 'the subscription of before')
      expect(host.listeners).toEqual(host.sessions('a'))
    })

    test('a device that takes over its own session stays connected', async () => {
      const broker = await stage.broker(host)
      await stage.device('a')
      const again = await stage.device('a')
      await again.publishAsync('fleet/a/telemetry', '1', { qos: 1 })
      await until(() => host.texts('a').length === 1, 'the message')
      expect(host.causes('a')).toEqual(['takeover'])
      expect(broker.isConnected(deviceId('a'))).toBe(true)
      const [first = 0, second = 0] = host.sessions('a').map(({ number }) => number)
      expect(second).toBeGreaterThanOrEqual(first)
    })
  })

  describe('a node that only sends', () => {
    test('a node that only sends delivers, and commands are confirmed by their events', async () => {
      await stage.broker(host)
      const sender = await stage.broker()
      const device = await stage.device('a')
      const received: string[] = []
      device.on('message', (topic, payload) => void received.push(`${topic} ${payload}`))
      await device.subscribeAsync('fleet/a/#', { qos: 1 })
      await sender.publish(downlink({ suffix: 'shadow/desired', retain: true }, 'wish'))
      // EMQX tells of one without an id, too, and writes `undefined` for it.
      await sender.publish(downlink({}, '{}'))
      expect(await sender.publish(downlink({}, '{"request_id":"cmd_1"}'))).toBe(false)
      await until(() => host.deliveries.includes('a command cmd_1'), 'the acknowledgement')
      expect(host.deliveries).toEqual(['a command cmd_1'])
      expect(received).toEqual([
        'fleet/a/shadow/desired wish',
        'fleet/a/command {}',
        'fleet/a/command {"request_id":"cmd_1"}',
      ])
    })

    test('while the broker is away the last retained message waits, and a command does not', async () => {
      const sender = await stage.broker()
      await sender.publish(downlink({ suffix: 'shadow/desired', retain: true }, 'first'))
      await stage.emqx.kill9()
      expect(await sender.publish(downlink({}, '{"request_id":"cmd_1"}'))).toBe(false)
      const kept = ['second', 'third'].map((text) =>
        sender.publish(downlink({ suffix: 'shadow/desired', retain: true }, text)),
      )
      await until(() => sender.counts().outside?.downlinksWaiting === 1, 'only the last to wait')
      await stage.emqx.revive()
      expect(await Promise.all(kept)).toEqual([true, true])
      const device = await stage.device('a')
      const received: string[] = []
      device.on('message', (_, payload) => void received.push(String(payload)))
      await device.subscribeAsync('fleet/a/#', { qos: 1 })
      await until(() => received.length === 1, 'the retained message')
      expect(received).toEqual(['third'])
    })

    test('the session of a device that is cut off ends, and the device is banned', async () => {
      await stage.broker(host)
      const sender = await stage.broker()
      const device = await stage.device('a', { clean: false })
      await device.subscribeAsync('fleet/a/#', { qos: 1 })
      await sender.publish(downlink({ suffix: 'shadow/desired', retain: true }, 'wish'))
      sender.cut(deviceId('a'), 'revoked')
      await until(() => host.causes('a').length === 1, 'the end')
      expect(host.causes('a')).toEqual(['revoked'])
      await expect(stage.device('a')).rejects.toThrow()
      await until(() => sender.counts().outside?.callsWaiting === 0, 'EMQX to be told')
      expect(stage.emqx.banned()).toEqual(['a'])
    })

    test('a device that is cut off stays banned, although EMQX had banned it for a while', async () => {
      const sender = await stage.broker()
      await stage.emqx.flapping('a')
      for (const _ of ['once', 'again']) {
        sender.cut(deviceId('a'), 'revoked')
        await until(() => sender.counts().outside?.callsWaiting === 0, 'EMQX to be told')
      }
      expect(stage.emqx.banned()).toEqual(['a'])
    })

    test('an id that is free again is not banned, whatever came first', async () => {
      await stage.broker(host)
      const sender = await stage.broker()
      await stage.device('a', { clean: false })
      sender.cut(deviceId('a'), 'revoked')
      await until(() => stage.emqx.banned().length === 1, 'the ban')
      await sender.free(deviceId('a'))
      expect(stage.emqx.banned()).toEqual([])
      expect((await stage.device('a')).connected).toBe(true)
      // The ban may still be on its way when the id is free.
      sender.cut(deviceId('a'), 'revoked')
      await sender.free(deviceId('a'))
      expect(stage.emqx.banned()).toEqual([])
      await sender.free(deviceId('a'))
      expect((await stage.device('a')).connected).toBe(true)
    })

    test('a message to a group is sent', async () => {
      const sender = await stage.broker()
      sender.publishToGroup('yard/north', { suffix: 'cmd/request', payload: Buffer.from('{}'), qos: 1 })
      await until(() => sender.counts().outside?.downlinksWaiting === 0, 'it to be sent')
    })
  })
})

describe.skipIf(MOSQUITTO === undefined)('a plain broker', () => {
  let stage: MqttStage
  let host: FakeHost

  beforeEach(async () => {
    stage = await MqttStage.open({ mode: 'plain' })
    host = new FakeHost()
  })
  afterEach(() => stage.close())

  test('a device of a plain broker is connected by its messages alone', async () => {
    const broker = await stage.broker(host)
    expect(stage.warnings[0]).toContain('a plain broker')
    const device = await stage.device('a')
    await device.publishAsync('fleet/a/telemetry/x', 'one', { qos: 1 })
    await device.publishAsync('fleet/a/status', 'on', { qos: 1, retain: true })
    await until(() => host.texts('a').length === 2, 'the messages')
    expect(host.events.map(({ kind }) => kind)).toEqual(['opened', 'message', 'message'])
    expect(host.messages('a').map(({ retain }) => retain)).toEqual([false, true])
    expect(host.listeners).toEqual(host.sessions('a'))
    expect(broker.isConnected(deviceId('a'))).toBe(true)
    await until(() => broker.counts().outside?.unacknowledged === 0, 'the acknowledgements')
  })

  test('a command through a plain broker resolves true if there was a subscriber', async () => {
    const sender = await stage.broker()
    // The first one opens the connection.
    await sender.publish(downlink({ suffix: 'shadow/desired', retain: true }, 'wish'))
    expect(await sender.publish(downlink())).toBe(false)
    const device = await stage.device('a')
    await device.subscribeAsync('fleet/a/#', { qos: 1 })
    expect(await sender.publish(downlink())).toBe(true)
    expect(await sender.publish(downlink({ qos: 2 }))).toBe(true)
    await device.unsubscribeAsync('fleet/a/#')
    expect(await sender.publish(downlink({ qos: 2 }))).toBe(false)
  })
})
