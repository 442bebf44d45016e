// What the ends of connections mean for a device that has just been updated.
import { describe, expect, test } from 'vitest'
import type { Job } from '../../domain/ota/job.ts'
import { updateAt } from '../../domain/ota/testing/updated-device.ts'
import type { EndCause } from '../../ports/broker.ts'
import { closed, deviceOf, idOf, opened } from './testing/items.ts'
import { at, ShardBench } from './testing/shard.ts'

const { firmware } = updateAt('confirming').device
const confirming = deviceOf('a', { status: 'online', firmwareVersion: '2.0', firmware })

function jobIn(bench: ShardBench): Job | undefined {
  return bench.ask({ kind: 'firmware', deviceIds: [idOf('a')] })[0]?.firmware.jobs[0]
}

describe('a device that confirms', () => {
  test.each([
    ['lost', 'rebooting', 1],
    ['keepalive', 'rebooting', 1],
    ['disconnect', 'rebooting', 1],
    ['shutdown', 'confirming', 0],
    ['expired', 'confirming', 0],
    ['revoked', 'confirming', 0],
  ] as const satisfies readonly (readonly [EndCause, string, number])[])(
    'whose connection ends by %s is %s, with %i losses',
    (cause, status, losses) => {
      // The first session is known to have been there: the loss is that of its end alone.
      const bench = new ShardBench([confirming])
      bench.apply([opened('a', 1)])
      expect(jobIn(bench)).toMatchObject({ status: 'confirming', losses: 0, since: at(1) })
      bench.apply([closed('a', 2, 1, cause)])
      expect(jobIn(bench)).toMatchObject({ status, losses })
    },
  )

  test('loses nothing with a service that dies, and begins its wait anew', () => {
    const before = new ShardBench([confirming])
    before.apply([opened('a', 1)])
    const [vitals] = before.work({ vitals: true }).vitals
    const after = new ShardBench([confirming], { bootAt: at(5), ...(vitals && { vitals: vitals.bytes }) })
    after.apply([opened('a', 10)])
    expect(jobIn(after)).toMatchObject({ status: 'confirming', losses: 0, since: at(10) })
  })

  test('is lost when another session takes the place of the one it had', () => {
    const bench = new ShardBench([confirming])
    bench.apply([opened('a', 1), opened('a', 2)])
    expect(jobIn(bench)).toMatchObject({ status: 'rebooting', losses: 1 })
  })
})
