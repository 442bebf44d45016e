// Channels of which something failed: what they are told afterwards.
import { beforeEach, expect, test } from 'vitest'
import { AlertId } from '../../../schemas/ids.ts'
import type { Notice } from '../../domain/alert/notice.ts'
import { answered, NotifierWorld, OK } from './testing/notifier-world.ts'

const SEC = 1_000
const MINUTE = 60_000
let world: NotifierWorld
const fired = (id: string, more: Partial<Notice> = {}) => world.at({ alertId: AlertId(id), ...more })
const resolved = (id: string) => world.at({ alertId: AlertId(id), event: 'resolved', revision: 2 })

beforeEach(async () => {
  world = new NotifierWorld()
  await world.open()
})

test('a mail that some receivers got is not repeated, delays no others, and its end is told', async () => {
  const id = await world.channel('ch_1')
  world.answer = () => ({ kind: 'partial', mayPass: false })
  const alerts = ['alt_1', 'alt_2', 'alt_3', 'alt_4', 'alt_5']
  for (const alert of alerts) {
    await world.notice([fired(alert)])
    await world.advance(SEC)
  }
  await world.notice(alerts.map((alert) => resolved(alert)))
  await world.advance(SEC)
  expect([...world.told()].sort()).toEqual(alerts.flatMap((alert) => [`${alert} fired`, `${alert} resolved`]))
  expect(await world.deliveries(id)).toMatchObject(world.received.map(() => ({ state: 'failed' })))
  expect(await world.notifications.call({ op: 'list' })).toMatchObject({
    channels: [{ health: { state: 'ok', failures: 0, lastError: { code: 'SMTP_RECIPIENT' } } }],
  })
})

test('a message that the receiver never takes does not hold up those that it would take', async () => {
  await world.channel('ch_1')
  world.answer = () => answered(400)
  for (const alert of ['alt_1', 'alt_2', 'alt_3']) {
    await world.notice([fired(alert)])
    await world.advance(SEC)
  }
  world.received.length = 0
  world.answer = ({ body }) => (body.includes('alt_4') ? answered(400) : OK)
  await world.notice([fired('alt_4')])
  await world.advance(SEC)
  await world.notice([fired('alt_5'), fired('alt_6')])
  await world.advance(5 * MINUTE)
  expect(world.told()).toEqual(expect.arrayContaining(['alt_5 fired', 'alt_6 fired']))
})
