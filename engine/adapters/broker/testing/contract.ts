// The contract that every broker adapter keeps (R13). An adapter's test passes a way to start it and to connect a device.
//
// A broker outside the process admits, bounds and acknowledges devices by itself: the host is not asked, and hears of it
// a little later. Tests that depend on the host's part run for brokers inside the process only.
import { Buffer } from 'node:buffer'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import { CONNACK } from '../../../ports/broker.ts'
import type { Qos } from '../filters.ts'
import { downlinkContract } from './contract-downlinks.ts'
import { publishRateContract } from './contract-rate.ts'
import {
  a,
  type BrokerUnderTest,
  type ContractConnect,
  connectTo,
  type StartBroker,
  will,
} from './contract-world.ts'
import { FakeHost, until } from './fake-host.ts'

export interface ContractOptions {
  readonly isOutside?: boolean
  /** Devices are told of a forbidden topic in the acknowledgement, and stay. */
  readonly isV5?: boolean
}

export function brokerContract(
  name: string,
  start: StartBroker,
  { isOutside = false, isV5 = false }: ContractOptions = {},
): void {
  describe(`a broker: ${name}`, () => {
    let host: FakeHost
    let under: BrokerUnderTest
    const inside = test.skipIf(isOutside)
    const connect = (id?: string, options?: ContractConnect) => connectTo(under, id, options)

    beforeEach(async () => {
      host = new FakeHost()
      under = await start(host)
    })
    afterEach(async () => {
      await under.broker.close()
      await under.release?.()
    })
    const heard = (count: number) => until(() => host.events.length >= count, `${count} events`)

    describe('sessions', () => {
      test('an admitted device is announced before its first message', async () => {
        const device = await connect()
        await device.publish('fleet/a/telemetry', 'one')
        await heard(2)
        expect(host.events.map(({ kind }) => kind)).toEqual(['opened', 'message'])
        expect(under.broker.isConnected(a)).toBe(true)
        expect(Buffer.from(host.sessions(a)[0]?.idBytes ?? []).toString()).toBe('a')
      })

      inside('a device that is denied is told the code and never announced', async () => {
        expect(await under.connect('a', { password: 'wrong' })).toBe(CONNACK.unauthorized)
        expect(host.events).toEqual([])
        expect(under.broker.counts()).toMatchObject({ connected: 0, denied: 1 })
      })

      test('a device that says goodbye leaves no will', async () => {
        const device = await connect('a', { will })
        device.disconnect()
        await until(() => host.causes(a).length === 1, 'closed')
        expect(host.causes(a)).toEqual(['disconnect'])
        expect(host.messages(a)).toEqual([])
        expect(under.broker.isConnected(a)).toBe(false)
      })

      test('the will of a device that is lost is published before its session is closed', async () => {
        const device = await connect('a', { will })
        device.drop()
        await until(() => host.causes(a).length === 1, 'closed')
        expect(host.events.map(({ kind }) => kind)).toEqual(['opened', 'message', 'closed'])
        expect(host.messages(a)[0]).toMatchObject({ suffix: 'status', text: 'gone', qos: 1, will: true })
        expect(host.causes(a)).toEqual(['lost'])
      })

      inside.each([
        ['outside the own namespace', { topic: 'fleet/b/status' }],
        ['with a wildcard', { topic: 'fleet/a/#' }],
        ['retained where nothing is retained', { topic: 'fleet/a/telemetry', retain: true }],
      ])('a will %s is refused', async (_, wrong) => {
        expect(await under.connect('a', { will: { ...will, ...wrong } })).toBe(CONNACK.unauthorized)
        expect(host.events).toEqual([])
      })

      // EMQX publishes the will of a session that is discarded.
      inside(
        'a newer connection takes over: it is announced first, and the older one is closed once, without its will',
        async () => {
          const older = await connect('a', { will })
          await connect('a', { will })
          await until(() => older.isClosed(), 'the older to be closed')
          await heard(3)
          expect(host.events.map(({ kind }) => kind)).toEqual(['opened', 'opened', 'closed'])
          expect(host.causes(a)).toEqual(['takeover'])
          expect(under.broker.isConnected(a)).toBe(true)
          const [first = 0, second = 0] = host.sessions(a).map(({ number }) => number)
          expect(second).toBeGreaterThan(first)
        },
      )

      test('a session that has ended can still be told that its messages are durable', async () => {
        host.isHolding = true
        const device = await connect('a', { will: { ...will, retain: true } })
        void device.publish('fleet/a/telemetry', 'one')
        await until(() => host.messages(a).length === 1, 'the message')
        device.drop()
        await until(() => host.causes(a).length === 1, 'closed')
        expect(() => host.release()).not.toThrow()
      })

      inside('closing ends every session without wills', async () => {
        await connect('a', { will })
        await connect('b')
        await under.broker.close()
        expect(host.causes()).toEqual(['shutdown', 'shutdown'])
        expect(host.messages()).toEqual([])
      })
    })

    describe('uplinks', () => {
      test('uplinks are handed on in the order sent, and counted by QoS', async () => {
        const device = await connect()
        const sent = [0, 1, 2].map((qos) =>
          device.publish(`fleet/a/telemetry/t${qos}`, `m${qos}`, { qos: qos as Qos }),
        )
        await Promise.all(sent)
        await heard(4)
        expect(host.messages(a).map(({ suffix, text, qos }) => [suffix, text, qos])).toEqual([
          ['telemetry/t0', 'm0', 0],
          ['telemetry/t1', 'm1', 1],
          ['telemetry/t2', 'm2', 2],
        ])
        expect(under.broker.counts().publishes).toEqual([1, 1, 1])
      })

      inside.each([1, 2] as const)(
        'an uplink of QoS %i is acknowledged once durable, not before',
        async (qos) => {
          host.isHolding = true
          const device = await connect()
          let isAcked = false
          const sent = device.publish('fleet/a/telemetry', 'one', { qos }).then(() => {
            isAcked = true
          })
          await until(() => host.messages(a).length === 1, 'the message')
          // A round trip of the same device. An early acknowledgement would arrive before its answer.
          await device.subscribe('fleet/a/command')
          expect(isAcked).toBe(false)
          host.release()
          await sent
        },
      )

      test
        .skipIf(isOutside || isV5)
        .each([
          'fleet/b/telemetry',
          'fleet/aa/telemetry',
          'fleet/a',
          'fleet/a/',
          'fleet/\u0430/telemetry',
          'fleet/a/../b/telemetry',
          '/fleet/a/telemetry',
          'Fleet/a/telemetry',
          'fleet/a/telemetry/#',
          'fleet/a/+',
          '$SYS/a/telemetry',
          `fleet/a/${'x'.repeat(LIMITS.topicBytesMax)}`,
          `fleet/a${'/x'.repeat(LIMITS.topicLevelsMax)}`,
        ])('an uplink to %s ends the session and is not handed on', async (topic) => {
        const device = await connect()
        void device.publish(topic, 'one')
        await until(() => device.isClosed(), 'the session to end')
        expect(host.messages()).toEqual([])
        expect(host.causes(a)).toEqual(['abuse'])
        expect(under.broker.counts().refusedTopics).toBe(1)
        expect(host.refusals).toEqual(['a publish'])
      })

      inside('an uplink of a device that may not publish ends its session', async () => {
        host.admissions.set('a', { mayPublish: false })
        const device = await connect()
        void device.publish('fleet/a/telemetry', 'one')
        await until(() => device.isClosed(), 'the session to end')
        expect(host.messages()).toEqual([])
      })

      test('uplinks are retained only where the topic allows it', async () => {
        const device = await connect()
        await device.publish('fleet/a/telemetry', 'one', { retain: true })
        await device.publish('fleet/a/status', 'two', { retain: true })
        await heard(3)
        expect(host.messages(a).map(({ retain }) => retain)).toEqual([false, true])
      })

      inside('uplinks come back to a device subscribed to its own topics, once durable', async () => {
        host.isHolding = true
        const device = await connect()
        await device.subscribe('fleet/a/#')
        const sent = device.publish('fleet/a/telemetry', 'one')
        await until(() => host.messages(a).length === 1, 'the message')
        expect(device.received()).toEqual([])
        host.release()
        await sent
        await until(() => device.received().length === 1, 'the echo')
        expect(device.received()[0]).toMatchObject({ topic: 'fleet/a/telemetry', text: 'one', retain: false })
      })
    })
  })

  // A broker outside acknowledges downlinks in place of the device, and limits devices by itself.
  if (isOutside) return
  downlinkContract(name, start)
  publishRateContract(name, start)
}
