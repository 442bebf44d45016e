import { expect, test } from 'vitest'
import { callService } from './commands.ts'
import { Calls } from './ros/calls.ts'
import { FakeClock } from './testing/fake-clock.ts'
import { downlinkRoute } from './testing/routes.ts'

test('a service that does not answer is given up after a minute, so that a newer state can be applied', async () => {
  const clock = new FakeClock()
  const calls = new Calls()
  const route = downlinkRoute(
    'ros_topic: /configure, mqtt_topic: shadow/desired, direction: mqtt_to_ros, mode: service',
  )
  const ros = {
    callService: () => {
      const { id, ended } = calls.begin(
        () => undefined,
        () => undefined,
      )
      return { ended, giveUp: (error: Parameters<Calls['fail']>[1]) => calls.fail(id, error) }
    },
  }
  const applied = callService(route, { led: 'on' }, { ros, clock })
  const outcome = expect(applied).rejects.toMatchObject({ code: 'TIMEOUT' })
  clock.pass(60_000)
  await outcome
})
