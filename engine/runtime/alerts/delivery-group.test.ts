import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AlertId, ChannelId } from '../../../schemas/ids.ts'
import { beginDelivery, type NotificationItem } from '../../domain/alert/delivery.ts'
import { DeliveryGroup } from './delivery-group.ts'
import { aNotice, START } from './testing/notifier-world.ts'

const AT = START
const ALERTS = 30

test('alerts join and leave a delivery as if it were copied each time', () => {
  const step = fc.record({
    kind: fc.constantFrom('join', 'leave', 'read'),
    alert: fc.integer({ min: 1, max: ALERTS }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const first = item(0)
      const group = new DeliveryGroup(
        beginDelivery(first, { channelId: ChannelId('ch_1'), now: AT, dueAt: AT }),
      )
      let members = [first.notice.alertId]
      let told = members
      for (const { kind, alert } of steps) {
        const id = AlertId(`alt_${alert}`)
        if (kind === 'join' && !members.includes(id)) {
          group.join(item(alert))
          members = [...members, id]
          if (told.length < 20) told = [...told, id]
        }
        if (kind === 'leave') {
          expect(group.isOnlyOf(id)).toBe(false)
          group.leave(id)
          members = members.filter((each) => each !== id)
          const [last = id] = told
          told = told.filter((each) => each !== id)
          if (told.length === 0) told = [last]
        }
        expect(group.size).toBe(members.length)
        if (kind === 'read') expectIt(group, members, told)
      }
      expectIt(group, members, told)
    }),
  )
})

test('all members for one alert leave together', () => {
  const item0 = item(0)
  const begun = beginDelivery(item0, { channelId: ChannelId('ch_1'), now: AT, dueAt: AT })
  const [member] = begun.members
  const folded = member === undefined ? [] : [member, { ...member, event: 'resolved' as const }]
  const group = new DeliveryGroup({ ...begun, members: folded })
  expect([group.size, group.isOnlyOf(item0.notice.alertId)]).toEqual([2, true])
  group.join(item(1))
  expect(group.delivery().members.map(({ event }) => event)).toEqual(['fired', 'resolved', 'fired'])
  group.leave(item0.notice.alertId)
  expect(group.delivery().members.map(({ alertId }) => alertId)).toEqual(['alt_1'])
})

function expectIt(group: DeliveryGroup, members: readonly AlertId[], told: readonly AlertId[]): void {
  const delivery = group.delivery()
  expect(delivery.members.map(({ alertId }) => alertId)).toEqual(members)
  expect(delivery.told.map(({ alert }) => alert['alert_id'])).toEqual(told)
}

function item(alert: number): NotificationItem {
  const notice = aNotice({ alertId: AlertId(`alt_${alert}`) })
  const { event, ruleId, ruleName, severity, message, device } = notice
  return {
    notice,
    told: {
      ...{ event, ruleId, ruleName, severity, message },
      alert: { ...notice.alert, message, link: '' },
      device: device && { ...device, link: '' },
    },
  }
}
