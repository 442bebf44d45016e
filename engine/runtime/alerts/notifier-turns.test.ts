// A storm of alerts shares the process with messages of other devices.
import { expect, test } from 'vitest'
import { AlertId } from '../../../schemas/ids.ts'
import type { Notice } from '../../domain/alert/notice.ts'
import { LIMITS } from '../../limits.ts'
import { NotifierWorld, OK } from './testing/notifier-world.ts'

test('other work gets its turn while many notices are taken', async () => {
  const world = new NotifierWorld()
  await world.open()
  await world.channel('ch_1', { groupWaitSec: 60 })
  await world.notice(stormOf(world))
  const { schedule } = world.time.newIncarnation()
  const steps: number[] = []
  let seen = 0
  const poll = () => {
    const waiting = world.notifications.waiting()
    steps.push(waiting - seen)
    seen = waiting
    if (steps.length < 50) schedule.after(0, poll)
  }
  schedule.after(100, poll)
  await world.advance(100)
  expect([seen, Math.max(...steps)]).toEqual([500, LIMITS.noticesAtOnceMax])
})

test('notices taken together are saved once, even if a message is delivered meanwhile', async () => {
  const world = new NotifierWorld()
  await world.open()
  await world.channel('ch_1', { groupWaitSec: 60 })
  let deliver = () => {}
  world.answer = () => new Promise((resolve) => (deliver = () => resolve(OK)))
  await world.notice([world.at({ alertId: AlertId('alt_hot'), severity: 'critical' })])
  await world.advance(1_000)
  await world.notice(stormOf(world))
  const { schedule } = world.time.newIncarnation()
  const waitingWhenSaved: number[] = []
  const save = world.store.save.bind(world.store)
  world.store.save = async (what) => {
    if (what.noticesRemoved.length > 0) waitingWhenSaved.push(world.notifications.waiting())
    await save(what)
  }
  schedule.after(100, () => schedule.after(0, deliver))
  await world.advance(200)
  expect(waitingWhenSaved).toEqual([500])
})

test('a store that cannot be read is read again at the next poll, not at once', async () => {
  const world = new NotifierWorld()
  await world.open()
  await world.channel('ch_1')
  await world.notice([world.at({})])
  const read = world.store.notices.bind(world.store)
  let refusals = 100
  world.store.notices = async (max) => {
    if (refusals-- > 0) throw new Error('the store is away')
    return read(max)
  }
  await world.advance(1_000)
  expect([refusals > 80, world.told()]).toEqual([true, []])
  refusals = 0
  await world.advance(1_000)
  expect(world.told()).toEqual(['alt_1 fired'])
})

function stormOf(world: NotifierWorld): readonly Notice[] {
  return Array.from({ length: 500 }, (_, i) => world.at({ alertId: AlertId(`alt_${i}`), groupBy: 'rule' }))
}
