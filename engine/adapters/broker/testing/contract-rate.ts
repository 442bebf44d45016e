// The part of the broker contract about devices that publish faster than they may (R13).
import { describe, expect, test } from 'vitest'
import type { DeviceId } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { type BrokerUnderTest, connectTo, type StartBroker } from './contract-world.ts'
import { FakeHost, until } from './fake-host.ts'

const RATE = 1
const BURST = RATE * LIMITS.publishBurstSec

export function publishRateContract(name: string, start: StartBroker): void {
  describe(`a broker with a publish rate: ${name}`, () => {
    async function open(check: (under: BrokerUnderTest, host: FakeHost) => Promise<void>): Promise<void> {
      const host = new FakeHost()
      const under = await start(host, { publishRateMax: RATE })
      try {
        await check(under, host)
      } finally {
        await under.broker.close()
      }
    }
    const numbers = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) => String(from + index))

    test.each([1, 2] as const)(
      'messages of QoS %i over the rate come later, in order and acknowledged',
      (qos) =>
        open(async (under, host) => {
          const device = await connectTo(under)
          let acked = 0
          const sent = numbers(0, 25).map((text) =>
            device.publish('fleet/a/telemetry', text, { qos }).then(() => {
              acked++
            }),
          )
          await until(() => host.texts().length === BURST, 'the first messages')
          expect(host.texts()).toEqual(numbers(0, BURST))
          under.pass(5_000)
          await until(() => host.texts().length === BURST * 1.5, 'five seconds more')
          expect(host.texts()).toEqual(numbers(0, BURST * 1.5))
          expect(acked).toBeLessThanOrEqual(BURST * 1.5)
          under.pass(60_000)
          await Promise.all(sent)
          expect(host.texts()).toEqual(numbers(0, 25))
          expect(under.broker.counts().shedQos0).toBe(0)
        }),
    )

    test('messages of QoS 0 over the rate are shed and counted', () =>
      open(async (under, host) => {
        const device = await connectTo(under)
        for (const text of numbers(0, 25)) await device.publish('fleet/a/telemetry', text, { qos: 0 })
        await until(() => under.broker.counts().shedQos0 === 15, 'all to be read')
        expect(host.texts()).toEqual(numbers(0, BURST))
        under.pass(1_000)
        await device.publish('fleet/a/telemetry', 'later', { qos: 0 })
        await until(() => host.texts().length === BURST + 1, 'the later one')
        expect(host.texts().at(-1)).toBe('later')
      }))

    test('a large message counts as several', () =>
      open(async (under, host) => {
        const device = await connectTo(under)
        await device.publish('fleet/a/telemetry', 'x'.repeat(BURST * LIMITS.publishBytesCounted), { qos: 0 })
        await device.publish('fleet/a/telemetry', 'shed', { qos: 0 })
        await until(() => under.broker.counts().shedQos0 === 1, 'it to be shed')
        expect(host.texts()).toHaveLength(1)
      }))

    test('a gateway may publish what its sub-devices may together', () =>
      open(async (under, host) => {
        host.senders.set('a' as DeviceId, 4)
        const gateway = await connectTo(under)
        const send = (from: number, to: number) =>
          Promise.all(numbers(from, to).map((text) => gateway.publish('fleet/a/telemetry', text)))
        await send(0, BURST)
        under.pass(5_000)
        await send(BURST, BURST * 3)
        await gateway.publish('fleet/a/telemetry', 'shed', { qos: 0 })
        await until(() => under.broker.counts().shedQos0 === 1, 'it to be shed')
        expect(host.texts()).toEqual(numbers(0, BURST * 3))
      }))

    test('connecting again does not raise the rate, and another device has a rate of its own', () =>
      open(async (under, host) => {
        const first = await connectTo(under)
        await Promise.all(numbers(0, BURST).map((text) => first.publish('fleet/a/telemetry', text)))
        first.disconnect()
        await until(() => host.causes('a').length === 1, 'closed')
        const again = await connectTo(under)
        await again.publish('fleet/a/telemetry', 'shed', { qos: 0 })
        await until(() => under.broker.counts().shedQos0 === 1, 'it to be shed')
        const other = await connectTo(under, 'b')
        await other.publish('fleet/b/telemetry', 'mine')
        expect(host.texts('b')).toEqual(['mine'])
      }))

    test('a device that is held back can be taken over, and what it has not sent by then is lost', () =>
      open(async (under, host) => {
        const held = await connectTo(under)
        // The last ones are never acknowledged: their promises stay open.
        for (const text of numbers(0, BURST + 5)) held.publish('fleet/a/telemetry', text).catch(() => {})
        await until(() => host.texts().length === BURST, 'the first messages')
        await connectTo(under)
        await until(() => held.isClosed(), 'the takeover')
        under.pass(10_000)
        expect(host.causes('a')).toEqual(['takeover'])
        expect(host.texts()).toEqual(numbers(0, BURST))
      }))
  })
}
