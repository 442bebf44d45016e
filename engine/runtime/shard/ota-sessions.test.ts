// What the ends of connections mean for a device that is being updated, and when its timers may run out.
import { describe, expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import type { Job } from '../../domain/ota/job.ts'
import { updateAt } from '../../domain/ota/testing/updated-device.ts'
import type { EndCause } from '../../ports/broker.ts'
import type { WorkTask } from './protocol.ts'
import { closed, deviceOf, idOf, opened, status, telemetry } from './testing/items.ts'
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

describe('what a device said before its restart, and sends again because nobody acknowledged it', () => {
  const says = (time: number, version: string, boot: string) =>
    status('a', time, { status: 'online', firmware_version: version, boot_id: boot })
  const { firmware: parts } = updateAt('rebooting').device
  const rebooting = deviceOf('a', {
    ...{ status: 'online', firmwareVersion: '1.0', firmware: { ...parts, bootId: '1' } },
  })

  test('is no restart to what it ran before, also over another death of the service', () => {
    const bench = new ShardBench([rebooting])
    bench.apply([opened('a', 1), says(2, '2.0', '2'), says(3, '1.0', '1')])
    expect(jobIn(bench)).toMatchObject({ status: 'confirming', error: undefined })
    const [state] = bench.ask({ kind: 'firmware', deviceIds: [idOf('a')] })
    expect(state?.firmwareVersion).toBe('2.0')
    const saved = { ...rebooting, firmwareVersion: '2.0', firmware: state?.firmware ?? expect.fail('gone') }
    const after = new ShardBench([saved], { bootAt: at(5) })
    after.apply([opened('a', 10), says(11, '2.0', '2'), says(12, '1.0', '1')])
    expect(jobIn(after)).toMatchObject({ status: 'confirming', error: undefined })
  })

  test('is what it runs where another connection begins with it', () => {
    const bench = new ShardBench([rebooting])
    bench.apply([opened('a', 1), says(2, '2.0', '2'), opened('a', 3), says(4, '1.0', '1')])
    expect(jobIn(bench)).toMatchObject({ status: 'failed', error: { code: 'ROLLED_BACK_BY_DEVICE' } })
  })
})

describe('the timers of a job', () => {
  const rebooting = deviceOf('a', { status: 'online', firmware: updateAt('rebooting').device.firmware })
  const statusAt = (bench: ShardBench, parts: Partial<WorkTask>) => {
    bench.work(parts)
    return jobIn(bench)?.status
  }

  test('wait for a moment after the service was away, and not where only the shard was', () => {
    const bench = new ShardBench([rebooting], { resumedAt: at(0) })
    expect(statusAt(bench, { sweep: at(59_999) })).toBe('rebooting')
    expect(statusAt(bench, { sweep: at(60_000) })).toBe('timed_out')
    expect(statusAt(new ShardBench([rebooting]), { sweep: at(1) })).toBe('timed_out')
  })

  test('behind the log run up to where it is read, unless devices come late whose lane nobody read', () => {
    const late = [telemetry('b', 70_000, { x: 1 })]
    const [embedded, cluster] = [at(-1_000), Millis(0)].map((bootAt) => {
      const bench = new ShardBench([rebooting, deviceOf('b')], { bootAt })
      bench.apply(late, { sweep: 'behind' })
      bench.work()
      return bench
    })
    expect([embedded && jobIn(embedded)?.status, cluster && jobIn(cluster)?.status]).toEqual([
      'timed_out',
      'rebooting',
    ])
    expect(cluster && statusAt(cluster, { sweep: at(70_000) })).toBe('timed_out')
  })
})
