// A storm of alerts shares the process with the messages of other devices.
import { expect, test } from 'vitest'
import { AlertId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { NotifierWorld } from './testing/notifier-world.ts'

test('others have their turn while many alerts are taken', async () => {
  const world = new NotifierWorld()
  await world.open()
  await world.channel('ch_1', { groupWaitSec: 60 })
  const storm = Array.from({ length: 500 }, (_, i) =>
    world.at({ alertId: AlertId(`alt_${i}`), groupBy: 'rule' }),
  )
  await world.notice(storm)
  const { schedule } = world.time.newIncarnation()
  const steps: number[] = []
  let seen = 0
  const look = () => {
    const waiting = world.notifications.waiting()
    steps.push(waiting - seen)
    seen = waiting
    if (steps.length < 50) schedule.after(0, look)
  }
  schedule.after(100, look)
  await world.advance(100)
  expect([seen, Math.max(...steps)]).toEqual([500, LIMITS.noticesAtOnceMax])
})
