// The part of the broker contract about messages for devices, and what is kept for devices that are away (R13).
import { Buffer } from 'node:buffer'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import type { Qos } from '../filters.ts'
import {
  a,
  type BrokerUnderTest,
  type ContractConnect,
  connectTo,
  downlink,
  type StartBroker,
  will,
} from './contract-world.ts'
import { FakeHost, until } from './fake-host.ts'

export function downlinkContract(name: string, start: StartBroker): void {
  describe(`a broker: ${name}`, () => {
    let host: FakeHost
    let under: BrokerUnderTest
    const connect = (id?: string, options?: ContractConnect) => connectTo(under, id, options)

    beforeEach(async () => {
      host = new FakeHost()
      under = await start(host)
    })
    afterEach(() => under.broker.close())

    describe('downlinks', () => {
      test.each([0, 1, 2] as const)(
        'a downlink of QoS %i reaches a subscriber and resolves true',
        async (qos) => {
          const device = await connect()
          await device.subscribe('fleet/a/command', 2)
          expect(await under.broker.publish(downlink({ qos }))).toBe(true)
          await until(() => device.received().length === 1, 'the downlink')
          expect(device.received()).toMatchObject([
            { topic: 'fleet/a/command', text: 'go', qos, retain: false },
          ])
        },
      )

      test('a downlink resolves false when the device is away, or not subscribed', async () => {
        expect(await under.broker.publish(downlink())).toBe(false)
        const device = await connect()
        await device.subscribe('fleet/a/ota')
        expect(await under.broker.publish(downlink())).toBe(false)
        expect(device.received()).toEqual([])
      })

      test('a downlink resolves false when the session ends before the device acknowledges', async () => {
        const device = await connect()
        device.acknowledges = false
        await device.subscribe('fleet/a/command')
        const sent = under.broker.publish(downlink())
        await until(() => device.received().length === 1, 'the downlink')
        device.drop()
        expect(await sent).toBe(false)
      })

      test('downlinks arrive in the order published, whatever their QoS', async () => {
        const device = await connect()
        await device.subscribe('fleet/a/#', 2)
        const texts = Array.from({ length: 60 }, (_, index) => `m${index}`)
        const sent = texts.map((text, index) =>
          under.broker.publish(
            downlink({
              payload: Buffer.from(text),
              qos: (index % 3) as Qos,
              retain: index % 5 === 0,
              suffix: 'shadow/desired',
            }),
          ),
        )
        expect(new Set(await Promise.all(sent))).toEqual(new Set([true]))
        expect(device.received().map(({ text }) => text)).toEqual(texts)
      })

      test('overlapping subscriptions are sent one downlink, at the highest QoS granted', async () => {
        const device = await connect()
        await device.subscribe('fleet/a/#', 0)
        await device.subscribe('fleet/a/+', 1)
        expect(await under.broker.publish(downlink({ qos: 2 }))).toBe(true)
        expect(device.received().map(({ qos }) => qos)).toEqual([1])
      })

      test.each([
        'fleet/b/#',
        'fleet/aa/#',
        '#',
        '+/a/#',
        'fleet/+/command',
        'fleet/a',
        '$SYS/#',
        '$share/x/fleet/a/#',
        '$queue/fleet/a/#',
        '/fleet/a/#',
        'fleet/\u0430/#',
        'fleet/a/../b/#',
      ])('a subscription to %s is refused', async (filter) => {
        const device = await connect()
        expect(await device.subscribe(filter)).toBe(false)
        expect(device.isClosed()).toBe(false)
        expect(host.refusals).toEqual(['a subscribe'])
      })

      test('a device that may not subscribe is refused', async () => {
        host.admissions.set('a', { maySubscribe: false })
        const device = await connect()
        expect(await device.subscribe('fleet/a/#')).toBe(false)
      })

      test('subscriptions are granted up to the limit', async () => {
        const device = await connect()
        for (let index = 0; index < LIMITS.subscriptionsPerSessionMax; index++) {
          expect(await device.subscribe(`fleet/a/t${index}`)).toBe(true)
        }
        expect(await device.subscribe('fleet/a/more')).toBe(false)
        expect(await device.subscribe('fleet/a/t0')).toBe(true)
      })
    })

    describe('a session that takes commands', () => {
      test.each(['fleet/a/command', 'fleet/a/#', 'fleet/a/+'])(
        'the host is told once a device has subscribed to %s, and can send commands from then on',
        async (filter) => {
          const device = await connect()
          await device.subscribe('fleet/a/ota')
          expect(host.listeners).toEqual([])
          await device.subscribe(filter)
          await until(() => host.listeners.length === 1, 'to be told')
          expect(await under.broker.publish(downlink())).toBe(true)
          await device.subscribe('fleet/a/#')
          await device.subscribe('fleet/a/more')
          expect(host.listeners).toEqual(host.sessions(a))
        },
      )

      test('the host is told when a device connects that has subscribed to commands before', async () => {
        const device = await connect('a', { clean: false })
        await device.subscribe('fleet/a/command')
        device.drop()
        await until(() => host.causes(a).length === 1, 'closed')
        await connect('a', { clean: false })
        await until(() => host.listeners.length === 2, 'to be told')
        expect(host.listeners).toEqual(host.sessions(a))
        expect(await under.broker.publish(downlink())).toBe(true)
      })
    })

    describe('what is kept', () => {
      test('the desired shadow is retained until an empty one clears it', async () => {
        expect(await under.broker.publish(downlink({ suffix: 'shadow/desired', retain: true }))).toBe(false)
        const device = await connect()
        await device.subscribe('fleet/a/shadow/desired')
        await until(() => device.received().length === 1, 'the retained message')
        expect(device.received()).toMatchObject([
          { topic: 'fleet/a/shadow/desired', text: 'go', retain: true },
        ])
        await under.broker.publish(
          downlink({ suffix: 'shadow/desired', payload: Buffer.alloc(0), retain: true }),
        )
        device.drop()
        const later = await connect()
        await later.subscribe('fleet/a/#')
        await under.broker.publish(downlink())
        expect(later.received().map(({ topic }) => topic)).toEqual(['fleet/a/command'])
      })

      test('a device whose sessions are ended may come back to what is kept for it', async () => {
        const device = await connect('a', { clean: false, will })
        await device.subscribe('fleet/a/#')
        await under.broker.publish(downlink({ suffix: 'shadow/desired', retain: true }))
        await until(() => device.received().length === 1, 'the wish')
        under.broker.end(a)
        expect(host.causes(a)).toEqual(['revoked'])
        expect(under.broker.isConnected(a)).toBe(false)
        await until(() => device.isClosed(), 'the socket to be closed')
        under.broker.end(a)
        await under.broker.publish(downlink({ suffix: 'shadow/delta' }))
        const later = await connect('a', { clean: false })
        await until(() => later.received().length === 1, 'what waited')
        expect(host.messages(a)).toHaveLength(0)
      })

      test('nothing is retained on other topics', async () => {
        await under.broker.publish(downlink({ retain: true }))
        const device = await connect()
        await device.subscribe('fleet/a/#')
        await under.broker.publish(downlink({}, 'later'))
        expect(device.received().map(({ text }) => text)).toEqual(['later'])
      })

      test('a retained will is retained', async () => {
        const device = await connect('a', { will: { ...will, retain: true } })
        device.drop()
        await until(() => host.causes(a).length === 1 && host.isSettled, 'the will to be durable')
        const later = await connect()
        await later.subscribe('fleet/a/status')
        await until(() => later.received().length === 1, 'the retained will')
        expect(later.received()).toMatchObject([{ text: 'gone', retain: true }])
      })

      test('a persistent session keeps subscriptions and messages of QoS 1 while the device is away', async () => {
        const device = await connect('a', { clean: false })
        await device.subscribe('fleet/a/shadow/delta')
        device.drop()
        await until(() => host.causes(a).length === 1, 'closed')
        for (const text of ['one', 'two']) {
          expect(
            await under.broker.publish(downlink({ suffix: 'shadow/delta', payload: Buffer.from(text) })),
          ).toBe(false)
        }
        await under.broker.publish(downlink({ suffix: 'shadow/delta', payload: Buffer.from('lost'), qos: 0 }))
        const later = await connect('a', { clean: false })
        await until(() => later.received().length === 2, 'what waited')
        expect(
          await under.broker.publish(downlink({ suffix: 'shadow/delta', payload: Buffer.from('three') })),
        ).toBe(true)
        expect(later.received().map(({ text }) => text)).toEqual(['one', 'two', 'three'])
      })

      test('a retained message that waited for a device is not marked as retained', async () => {
        const device = await connect('a', { clean: false })
        await device.subscribe('fleet/a/shadow/desired')
        device.drop()
        await until(() => host.causes(a).length === 1, 'closed')
        await under.broker.publish(downlink({ suffix: 'shadow/desired', retain: true }))
        const later = await connect('a', { clean: false })
        await until(() => later.received().length === 1, 'what waited')
        await later.subscribe('fleet/a/shadow/desired')
        await until(() => later.received().length === 2, 'the retained one')
        expect(later.received().map(({ retain }) => retain)).toEqual([false, true])
      })

      test('a command is not kept, neither for a device that is away nor when it was not acknowledged', async () => {
        const device = await connect('a', { clean: false })
        await device.subscribe('fleet/a/#', 2)
        device.acknowledges = false
        const unacked = under.broker.publish(downlink({ qos: 2 }))
        await until(() => device.received().length === 1, 'the command')
        device.drop()
        await until(() => host.causes(a).length === 1, 'closed')
        expect(await unacked).toBe(false)
        expect(await under.broker.publish(downlink({}, 'away'))).toBe(false)
        expect(await under.broker.publish(downlink({ suffix: 'shadow/delta' }, 'kept'))).toBe(false)
        const later = await connect('a', { clean: false })
        await until(() => later.received().length === 1, 'what waited')
        expect(await under.broker.publish(downlink({}, 'now'))).toBe(true)
        expect(later.received().map(({ text }) => text)).toEqual(['kept', 'now'])
      })

      test('desired shadows of a gateway’s sub-devices are retained, and their commands are not kept', async () => {
        const gateway = await connect('a', { clean: false })
        await gateway.subscribe('fleet/a/sub/+/command')
        expect(host.sessions(a)[0]?.takes('sub/c/command')).toBe(true)
        expect(host.sessions(a)[0]?.takes('sub/c/ota')).toBe(false)
        expect(await under.broker.publish(downlink({ suffix: 'sub/c/command' }))).toBe(true)
        gateway.drop()
        await until(() => host.causes(a).length === 1, 'closed')
        await under.broker.publish(downlink({ suffix: 'sub/c/command' }, 'over'))
        for (const [suffix, text] of [
          ['sub/c/shadow/desired', 'c'],
          ['sub/d/shadow/desired', 'd'],
          ['sub/c/other', 'no'],
        ] as const)
          await under.broker.publish(downlink({ suffix, retain: true }, text))
        const later = await connect('a', { clean: false })
        expect(host.sessions(a)[1]?.takes('sub/c/command')).toBe(true)
        await later.subscribe('fleet/a/sub/#')
        await until(() => later.received().length === 2, 'what is retained')
        expect(later.received().map(({ topic, text, retain }) => [topic, text, retain])).toEqual([
          ['fleet/a/sub/c/shadow/desired', 'c', true],
          ['fleet/a/sub/d/shadow/desired', 'd', true],
        ])
      })

      test('a clean session forgets subscriptions and messages', async () => {
        const device = await connect('a', { clean: false })
        await device.subscribe('fleet/a/command')
        device.drop()
        await until(() => host.causes(a).length === 1, 'closed')
        await under.broker.publish(downlink())
        const later = await connect()
        expect(await under.broker.publish(downlink())).toBe(false)
        expect(later.received()).toEqual([])
      })

      test('beyond the bound the oldest waiting message is dropped', async () => {
        const device = await connect('a', { clean: false })
        await device.subscribe('fleet/a/shadow/delta')
        device.drop()
        await until(() => host.causes(a).length === 1, 'closed')
        const count = LIMITS.offlineQueueMax + 5
        for (let index = 0; index < count; index++) {
          await under.broker.publish(downlink({ suffix: 'shadow/delta', payload: Buffer.from(`${index}`) }))
        }
        const later = await connect('a', { clean: false })
        await until(() => later.received().length === LIMITS.offlineQueueMax, 'what waited')
        expect(later.received()[0]?.text).toBe('5')
        expect(later.received().at(-1)?.text).toBe(`${count - 1}`)
      })

      test('a device that is cut is gone at once, without a will, and nothing is kept for it', async () => {
        host.isHolding = true
        const device = await connect('a', { clean: false, will })
        await device.subscribe('fleet/a/#')
        void device.publish('fleet/a/status', 'on', { retain: true })
        await under.broker.publish(downlink({ suffix: 'shadow/desired', retain: true }))
        await until(() => host.messages(a).length === 1, 'the message')
        under.broker.cut(a, 'revoked')
        expect(host.causes(a)).toEqual(['revoked'])
        expect(under.broker.isConnected(a)).toBe(false)
        await until(() => device.isClosed(), 'the socket to be closed')
        host.isHolding = false
        host.release()
        const later = await connect('a', { clean: false })
        expect(host.messages(a)).toHaveLength(1)
        expect(await under.broker.publish(downlink())).toBe(false)
        await later.subscribe('fleet/a/#')
        expect(await under.broker.publish(downlink())).toBe(true)
        expect(later.received().map(({ topic }) => topic)).toEqual(['fleet/a/command'])
      })
    })
  })
}
