import { expect, test } from 'vitest'
import { AlertId, ChannelId } from '../../../schemas/ids.ts'
import { beginDelivery, type Delivery } from '../../domain/alert/delivery.ts'
import { sampleItem } from '../../domain/alert/sample.ts'
import { newPackr } from '../../domain/packing.ts'
import { packDelivery, unpackDelivery } from './delivery-document.ts'
import { START } from './testing/notifier-world.ts'

const item = sampleItem('one', { device: () => '' }, START)
const begun = beginDelivery(item, { channelId: ChannelId('ch_1'), now: START, dueAt: START })
const [first] = begun.members

function deliveryOf(count: number): Delivery {
  if (first === undefined) throw new Error('a delivery is about something')
  const more = Array.from({ length: count }, (_, i) => ({
    ...{ alertId: AlertId(`alt_0123456789abcdef_bench-${i}`), revision: 1 + (i % 3) },
    ruleName: i % 2 === 0 ? 'weak signal' : 'battery low',
    event: i % 5 === 0 ? ('resolved' as const) : ('fired' as const),
    severity: i % 7 === 0 ? ('critical' as const) : ('info' as const),
  }))
  return { ...begun, members: [first, ...more] }
}

test.each([0, 1, 100])('a delivery with %i more alerts is read back as it was written', (count) => {
  const delivery = deliveryOf(count)
  expect(unpackDelivery(packDelivery(delivery))).toEqual(delivery)
})

test('a delivery that was stored with its members can be read, too', () => {
  const delivery = deliveryOf(3)
  expect(unpackDelivery(newPackr().pack(delivery))).toEqual(delivery)
})

test('a delivery about thousands of alerts takes less than half the space of its members', () => {
  const delivery = deliveryOf(2_000)
  expect(2 * packDelivery(delivery).length).toBeLessThan(newPackr().pack(delivery).length)
})
