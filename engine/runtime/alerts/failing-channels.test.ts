// Channels of which something failed: what they are told afterwards.
import { beforeEach, expect, test } from 'vitest'
import { AlertId, type ChannelId } from '../../../schemas/ids.ts'
import type { ChannelSettings } from '../../domain/alert/channel.ts'
import type { Notice } from '../../domain/alert/notice.ts'
import { LIMITS } from '../../limits.ts'
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

test('a channel that was off while an alert fired is not told of its end', async () => {
  const id = await world.channel('ch_1', { groupWaitSec: 10 })
  await world.notice([fired('alt_1'), fired('alt_2', { severity: 'critical' })])
  await world.advance(SEC)
  await edit(id, { enabled: false })
  await world.advance(MINUTE)
  await edit(id, { enabled: true })
  await world.notice([resolved('alt_1'), resolved('alt_2')])
  await world.advance(MINUTE)
  expect(world.told()).toEqual(['alt_2 fired', 'alt_2 resolved'])
})

test('a channel whose queue had no room for an alert is not told of its end', async () => {
  await world.channel('ch_1', { groupWaitSec: 60 })
  await world.notice([fired('alt_info', { severity: 'info', highestSeverity: 'info' })])
  await world.advance(SEC)
  await world.notice(
    Array.from({ length: LIMITS.notificationsQueuedMax }, (_, n) => fired(`alt_${n}`, { groupBy: 'rule' })),
  )
  await world.advance(2 * MINUTE)
  expect(world.received.map(({ total }) => total)).toEqual([LIMITS.notificationsQueuedMax])
  await world.notice([resolved('alt_info')])
  await world.advance(2 * MINUTE)
  expect(world.told()).not.toContain('alt_info resolved')
})

async function edit(id: ChannelId, changes: Partial<ChannelSettings>): Promise<void> {
  const listed = await world.notifications.call({ op: 'list' })
  const channel = listed.kind === 'channels' ? listed.channels.find((each) => each.id === id) : undefined
  if (channel === undefined) throw new Error(`${id} is not listed`)
  const settings = { ...channel, ...changes }
  const edited = await world.notifications.call({ op: 'replace', id, settings, revision: channel.revision })
  if (edited.kind !== 'channel') throw new Error(`not edited: ${edited.kind}`)
}
