// What the end of a connection means for a device that is being updated, and when its timers may run out.
import { describe, expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import type { Device } from '../../domain/device/record.ts'
import type { Job } from '../../domain/ota/job.ts'
import { updateAt } from '../../domain/ota/testing/updated-device.ts'
import type { EndCause } from '../../ports/broker.ts'
import type { WorkTask } from './protocol.ts'
import { closed, deviceOf, idOf, opened, status, telemetry, will } from './testing/items.ts'
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
      // The service has seen the first session begin, so its end counts as the only loss.
      const bench = new ShardBench([confirming])
      bench.apply([opened('a', 1)])
      expect(jobIn(bench)).toMatchObject({ status: 'confirming', losses: 0, since: at(1) })
      bench.apply([closed('a', 2, 1, cause)])
      expect(jobIn(bench)).toMatchObject({ status, losses })
    },
  )

  test('counts no loss when the service dies, and its wait starts again', () => {
    const before = new ShardBench([confirming])
    before.apply([opened('a', 1)])
    const [vitals] = before.work({ vitals: true }).vitals
    const after = new ShardBench([confirming], { bootAt: at(5), ...(vitals && { vitals: vitals.bytes }) })
    after.apply([opened('a', 10)])
    expect(jobIn(after)).toMatchObject({ status: 'confirming', losses: 0, since: at(10) })
  })

  test('is lost when another session replaces its own', () => {
    const bench = new ShardBench([confirming])
    bench.apply([opened('a', 1), opened('a', 2)])
    expect(jobIn(bench)).toMatchObject({ status: 'rebooting', losses: 1 })
  })
})

describe('a status from before a restart that is sent again because it was not acknowledged', () => {
  const says = (time: number, version: string, boot: string) =>
    status('a', time, { status: 'online', firmware_version: version, boot_id: boot })
  const { firmware: parts } = updateAt('rebooting').device
  const rebooting = deviceOf('a', {
    ...{ status: 'online', firmwareVersion: '1.0', firmware: { ...parts, bootId: '1' } },
  })

  test('does not count as a restart to the old firmware, even after another crash of the service', () => {
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

  test('counts if it is the first one in another connection', () => {
    const bench = new ShardBench([rebooting])
    bench.apply([opened('a', 1), says(2, '2.0', '2'), opened('a', 3), says(4, '1.0', '1')])
    expect(jobIn(bench)).toMatchObject({ status: 'failed', error: { code: 'ROLLED_BACK_BY_DEVICE' } })
  })
})

/** The firmware of a device that has been rebooting since this time. */
function rebootingSince(since: Millis): Device['firmware'] {
  const { firmware: parts } = updateAt('rebooting').device
  return { ...parts, jobs: parts.jobs.map((job) => ({ ...job, since })) }
}

describe('a repeated status from before a restart, of a device without boot ids', () => {
  const says = (time: number, version: string, sessionId?: string) => {
    const born = sessionId === undefined ? {} : { session_id: sessionId }
    return status('a', time, { status: 'online', firmware_version: version, ...born })
  }
  const firmware = rebootingSince(at(0))
  /** A device that had connections with these session ids and now has another connection. */
  const restarted = (...ids: readonly string[]) => {
    const bench = new ShardBench([deviceOf('a', { status: 'online', firmwareVersion: '1.0', firmware })])
    for (const [n, id] of ids.entries())
      bench.apply([opened('a', n - 10), status('a', n - 10, { status: 'online', session_id: id })])
    bench.apply([opened('a', 4)])
    return bench
  }
  const rolledBack = { status: 'failed', error: { code: 'ROLLED_BACK_BY_DEVICE' } }

  test('belongs to an earlier connection if the device announced another session id in this one', () => {
    const bench = restarted('one')
    bench.apply([says(5, '2.0', 'two'), says(6, '1.0', 'one')])
    expect(jobIn(bench)).toMatchObject({ status: 'confirming', error: undefined })
    expect(bench.ask({ kind: 'firmware', deviceIds: [idOf('a')] })[0]?.firmwareVersion).toBe('2.0')
    // Its last will still belongs to this connection.
    bench.apply([will('a', 7, { status: 'offline', session_id: 'one' })])
    expect(bench.ask({ kind: 'views', deviceIds: [idOf('a')] })[0]?.device.status).toBe('online')
  })

  test('gives the device a moment to say what it runs now', () => {
    const bench = restarted('one')
    bench.apply([says(5, '1.0', 'one'), says(6, '1.0', 'one')])
    expect(jobIn(bench)).toMatchObject({ status: 'rebooting', error: undefined })
    bench.work({ sweep: at(5_004) })
    bench.apply([says(5_005, '2.0', 'two'), says(5_006, '1.0', 'one')])
    expect(jobIn(bench)).toMatchObject({ status: 'confirming', error: undefined })
  })

  test('counts if nothing else follows', () => {
    const bench = restarted('one')
    bench.apply([says(5, '1.0', 'one')])
    bench.work({ sweep: at(5_006) })
    expect(jobIn(bench)).toMatchObject(rolledBack)
  })

  test.each([
    ['a new session id', 'two'],
    ['no session id', undefined],
  ])('counts if the device sends it with %s', (_, sessionId) => {
    const bench = restarted('one')
    bench.apply([says(5, '1.0', sessionId)])
    expect(jobIn(bench)).toMatchObject(rolledBack)
  })

  test('counts after the update was proved under the same session id', () => {
    const bench = restarted('one')
    bench.apply([says(5, '2.0', 'one')])
    expect(jobIn(bench)).toMatchObject({ status: 'confirming', isProved: true })
    bench.apply([says(6, '1.0', 'one')])
    expect(jobIn(bench)).toMatchObject(rolledBack)
  })

  test('does not hide the proof of a device that counts its session ids from one after each restart', () => {
    const bench = restarted('1', '2')
    bench.apply([says(5, '2.0', '1'), says(6, '2.0', '1')])
    expect(jobIn(bench)).toMatchObject({ status: 'confirming', isProved: true })
  })
})

describe('the timers of a job', () => {
  const rebooting = deviceOf('a', { status: 'online', firmware: updateAt('rebooting').device.firmware })
  const statusAt = (bench: ShardBench, parts: Partial<WorkTask>) => {
    bench.work(parts)
    return jobIn(bench)?.status
  }

  test('start again after the service was down, but not if only the shard was lost', () => {
    const bench = new ShardBench([rebooting], { resumedAt: at(0) })
    expect(statusAt(bench, { sweep: at(59_999) })).toBe('rebooting')
    expect(statusAt(bench, { sweep: at(60_000) })).toBe('timed_out')
    expect(statusAt(new ShardBench([rebooting]), { sweep: at(1) })).toBe('timed_out')
  })

  test('do not count time by which the clock was set', () => {
    const hour = 3_600_000
    const leaps = [{ at: at(100_000 + hour), ms: hour }]
    const bench = new ShardBench([deviceOf('a', { status: 'online', firmware: rebootingSince(at(0)) })])
    expect(statusAt(bench, { forgiveAt: at(100_000 + hour), leaps })).toBe('rebooting')
    expect(statusAt(bench, { sweep: at(hour + 599_999), leaps })).toBe('rebooting')
    expect(statusAt(bench, { sweep: at(hour + 600_000), leaps })).toBe('timed_out')
  })

  test('run up to the last entry read while the shard is behind, unless a lane without a reader may come late', () => {
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
