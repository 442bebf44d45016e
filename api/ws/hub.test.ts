import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Feed } from '../../engine/ports/feed.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import { Hub, type HubPorts } from './hub.ts'
import type { Subscription } from './subscription.ts'
import { openSocketService } from './testing/socket-service.ts'

test('a user may have some subscriptions that name no device, on all sockets together', async () => {
  const service = await openSocketService({ broadSubscriptionsPerUserMax: 2 })
  for (const name of ['ada', 'bo']) service.fleet.addUser(name)
  await service.fleet.addDevice('r')
  const [ada, other, bo] = [await service.login('ada'), await service.login('ada'), await service.login('bo')]
  ada.send({ type: 'subscribe', id: '1', channel: 'devices' })
  ada.send({ type: 'subscribe', id: '2', channel: 'telemetry', filter: { group: 'a' } })
  ada.send({ type: 'subscribe', id: '3', channel: 'telemetry', filter: { device_id: 'r' } })
  await ada.next('subscribed', ({ id }) => id === '3')
  other.send({ type: 'subscribe', id: '4', channel: 'devices' })
  expect(await other.next('error')).toMatchObject({ id: '4', problem: { code: 'RATE_LIMIT_EXCEEDED' } })
  bo.send({ type: 'subscribe', id: '5', channel: 'devices' })
  await bo.next('subscribed')
  ada.send({ type: 'unsubscribe', id: '2' })
  await ada.next('unsubscribed')
  other.send({ type: 'subscribe', id: '6', channel: 'devices' })
  await other.next('subscribed')
  await service.close()
})

test('an engine that takes long to learn what is wanted is told more rarely, and told all', async () => {
  const clock = new StandingTime(0)
  const told: number[] = []
  const feed: Pick<Feed, 'listen' | 'want'> = {
    listen: () => () => {},
    want({ telemetry }) {
      told.push(telemetry.devices.size)
      clock.at += 30
    },
  }
  const hub = new Hub({
    feed,
    clock,
    schedule: clock,
    deployments: { listen: () => () => {} },
  } as unknown as HubPorts)
  let answered = 0
  const subscribe = (id: string) => {
    // It needs nothing else of a subscription.
    const subscription = { channel: 'telemetry', deviceId: id as DeviceId, userId: 'u' } as Subscription
    void hub.add(subscription).then(() => answered++)
  }
  subscribe('a')
  subscribe('b')
  await nextTurn()
  await nextTurn()
  expect([told, answered]).toEqual([[2], 2])
  subscribe('c')
  await nextTurn()
  subscribe('d')
  await nextTurn()
  expect([told, answered]).toEqual([[2], 2])
  clock.at += 120
  await nextTurn()
  expect([told, answered]).toEqual([[2, 4], 4])
})
