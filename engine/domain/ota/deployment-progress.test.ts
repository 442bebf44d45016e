import { describe, expect, test } from 'vitest'
import { DeploymentId, type DeviceId, Millis } from '../../../schemas/ids.ts'
import type { Leap } from '../leap.ts'
import type { Deployment } from './deployment.ts'
import { countOf } from './deployment-count.ts'
import { advance, withFinalCounts } from './deployment-progress.ts'
import { planGrants } from './grant-plan.ts'
import { emptyTally, type JobTally } from './tally.ts'
import { CANARY, deployment, spec } from './testing/deployment.ts'

// Ids are written in these tests.
const id = (name: string) => name as DeviceId

const tally = (more: Partial<JobTally> = {}): JobTally => ({
  ...emptyTally(DeploymentId('dep_1'), 0),
  ...more,
})

function advanced(
  before: Deployment,
  tallies: readonly JobTally[],
  sec = 100,
  { isEnlisted = true, leaps = [] }: { isEnlisted?: boolean; leaps?: readonly Leap[] } = {},
): Deployment {
  return advance(before, countOf(before, tallies), { now: Millis(sec * 1_000), isEnlisted, leaps })
}

describe('after its end', () => {
  const over = deployment({
    status: 'failed',
    finishedAt: Millis(50_000),
    counts: { timed_out: 2 },
    stages: [{ total: 2, succeeded: 0, failed: 2, state: 'failed', since: Millis(0), startedAt: Millis(0) }],
  })
  const again = (more: Partial<JobTally>) => withFinalCounts(over, countOf(over, [tally(more)]))

  test('a job that was proved late is counted for what it is, and the status stands', () => {
    const after = again({ counts: { timed_out: 1, succeeded: 1 }, succeeded: 1, failed: 1 })
    expect(after).toMatchObject({ status: 'failed', counts: { timed_out: 1, succeeded: 1 } })
    expect(after.stages[0]).toMatchObject({ succeeded: 1, failed: 1, state: 'failed' })
  })

  test('it is the same record where nothing has changed, and where a device has forgotten its job', () => {
    expect(again({ counts: { timed_out: 2 }, failed: 2 })).toBe(over)
    expect(again({ counts: { succeeded: 1 }, succeeded: 1 })).toBe(over)
  })
})

const STAGED = {
  spec: spec({ strategy: 'canary', canary: CANARY }),
  stages: [
    { total: 2, succeeded: 0, failed: 0, state: 'running', since: Millis(0), startedAt: Millis(0) },
    { total: 8, succeeded: 0, failed: 0, state: 'waiting', since: Millis(0), startedAt: Millis(0) },
  ],
} as const
const canary = (more: Partial<Deployment> = {}) => deployment({ ...STAGED, ...more })

describe('statuses', () => {
  test('a scheduled one begins at its time, and is in progress with its first job', () => {
    const scheduled = deployment({ status: 'scheduled', spec: spec({ startAt: Millis(50_000) }) })
    expect(advanced(scheduled, [], 49)).toBe(scheduled)
    const pending = advanced(scheduled, [], 50)
    expect(pending.status).toBe('pending')
    expect(advanced(pending, [tally({ counts: { pending: 10 } })]).status).toBe('pending')
    expect(advanced(pending, [tally({ counts: { pending: 9, notified: 1 } })]).status).toBe('in_progress')
  })

  test.each([
    [{ succeeded: 10 }, { counts: { succeeded: 10 } }, 'completed', 'passed'],
    [{ succeeded: 9, failed: 1 }, { counts: { succeeded: 9, failed: 1 } }, 'completed', 'passed'],
    [{ failed: 4 }, { counts: { failed: 4, cancelled: 6 } }, 'failed', 'failed'],
    [{}, { counts: { cancelled: 10 } }, 'completed', 'passed'],
  ] as const)('with %o it ends as %o says, and its last stage, too', (sums, counts, status, state) => {
    const after = advanced(deployment(), [tally({ ...sums, ...counts })])
    expect([after.status, after.stages.at(-1)?.state]).toEqual([status, state])
  })

  test('one that was paused when its first job began has begun', () => {
    const paused = deployment({ status: 'paused', startedAt: undefined })
    expect(advanced(paused, [tally({ counts: { pending: 10 } })]).startedAt).toBeUndefined()
    const begun = advanced(paused, [tally({ counts: { notified: 1 } })], 7)
    expect(begun).toMatchObject({ status: 'paused', startedAt: 7_000 })
  })

  test('one of which every job was cancelled before it began is over', () => {
    const pending = deployment({ status: 'pending', startedAt: undefined })
    const none = tally({ counts: { cancelled: 10 } })
    expect(advanced(pending, [none]).status).toBe('completed')
    expect(advanced(pending, [none], 100, { isEnlisted: false }).status).toBe('pending')
  })

  test('it does not end before every member has its job', () => {
    const all = tally({ succeeded: 3, counts: { succeeded: 3 } })
    expect(advanced(deployment(), [all], 100, { isEnlisted: false }).status).toBe('in_progress')
  })

  test('no deployment is open after its deadline', () => {
    const late = deployment().deadlineAt / 1_000
    expect(advanced(deployment(), [tally({ counts: { pending: 10 } })], late)).toMatchObject({
      status: 'failed',
      statusReason: 'deadline',
    })
    const some = tally({ counts: { pending: 9, succeeded: 1 }, succeeded: 1 })
    expect(advanced(deployment({ status: 'paused' }), [some], late).status).toBe('completed')
  })

  test('it has finished when the last job has', () => {
    const done = deployment({ status: 'cancelled' })
    expect(advanced(done, [tally({ unfinished: 1 })]).finishedAt).toBeUndefined()
    expect(advanced(done, [tally({})]).finishedAt).toBe(100_000)
  })

  test('one that ends with its last job has finished at once', () => {
    const all = tally({ succeeded: 9, failed: 1, counts: { succeeded: 9, failed: 1 } })
    expect(advanced(deployment(), [all])).toMatchObject({ status: 'completed', finishedAt: 100_000 })
    const one = advanced(deployment(), [{ ...all, unfinished: 1 }])
    expect([one.status, one.finishedAt]).toEqual(['completed', undefined])
  })

  // A leader that takes over begins at nobody, and enlists nobody for a deployment that is over.
  test.each(['completed', 'failed', 'rolled_back', 'aborted', 'cancelled'] as const)(
    'one that is %s finishes under a leader that has not enlisted its members',
    (status) => {
      const over = deployment({ status })
      expect(
        advanced(over, [tally({ unfinished: 1 })], 100, { isEnlisted: false }).finishedAt,
      ).toBeUndefined()
      expect(advanced(over, [tally({})], 100, { isEnlisted: false }).finishedAt).toBe(100_000)
    },
  )

  test('jobs of several shards are counted together', () => {
    const half = tally({ counts: { succeeded: 5 }, succeeded: 5 })
    expect(advanced(deployment(), [half, half])).toMatchObject({
      counts: { succeeded: 10 },
      status: 'completed',
    })
  })
})

describe('stopping', () => {
  test.each([
    [{ failed: 1, succeeded: 3 }, false],
    [{ failed: 1, succeeded: 4 }, true],
    [{ failed: 1, succeeded: 5 }, false],
    [{ failed: 0, succeeded: 9 }, false],
  ])('after %o the share of failures stops it: %s', (sums, isStopped) => {
    const counts = { pending: 1, failed: sums.failed, succeeded: sums.succeeded }
    const next = advanced(deployment(), [tally({ ...sums, counts, unfinished: 1 })])
    expect(next.status).toBe(isStopped ? 'aborted' : 'in_progress')
  })

  test('a number of failures counts, too', () => {
    const abort = { minFinished: 1, failurePercent: 100, failureCount: 2 }
    const counts = { pending: 1, failed: 2, succeeded: 50 }
    const next = advanced(deployment({ spec: spec({ abort }) }), [
      tally({ failed: 2, succeeded: 50, counts }),
    ])
    expect(next).toMatchObject({ status: 'aborted', statusReason: 'failure_count' })
  })

  test('whoever has to go back does so before it is over', () => {
    const bad = tally({ failed: 5, counts: { failed: 5, pending: 5 }, due: 2, unfinished: 7 })
    const going = advanced(deployment(), [bad])
    expect(going).toMatchObject({ status: 'rolling_back', abortedAt: 100_000 })
    expect(advanced(going, [bad])).toBe(going)
    const gone = advanced(going, [tally({ counts: { rolled_back: 2, failed: 3, cancelled: 5 } })], 200)
    expect(gone).toMatchObject({ status: 'rolled_back', statusReason: 'failure_percent' })
  })

  test('it does not wait for a device that succeeded and was decommissioned', () => {
    const going = deployment({
      spec: spec({ rollbackScope: 'deployment' }),
      ...{ status: 'rolling_back', abortedAt: Millis(90_000) },
    })
    const counts = { failed: 1, succeeded: 1 }
    const proved = [{ deviceId: id('a'), parentId: undefined, version: '1.0' }]
    expect(advanced(going, [tally({ counts, proved })]).status).toBe('rolling_back')
    expect(advanced(going, [tally({ counts })]).status).toBe('rolled_back')
  })

  test('without rollbacks it is aborted at once', () => {
    const none = deployment({ spec: spec({ rollbackOnFailure: false }) })
    expect(advanced(none, [tally({ failed: 5, counts: { failed: 5 } })]).status).toBe('aborted')
  })

  test('canaries stop it as soon as their share of successes is out of reach', () => {
    const one = tally({ failed: 1, counts: { failed: 1, downloading: 1 }, unfinished: 1 })
    expect(advanced(canary(), [one])).toMatchObject({ status: 'aborted', statusReason: 'success_percent' })
    const half = spec({ strategy: 'canary', canary: { ...CANARY, successPercent: 50 } })
    expect(advanced(canary({ spec: half }), [one]).status).toBe('in_progress')
  })
})

describe('stages', () => {
  const proved = tally({ succeeded: 2, counts: { succeeded: 2 }, lastSuccessAt: Millis(60_000) })

  test('the soaking counts from the last success, whoever leads', () => {
    const soaking = advanced(canary(), [proved])
    expect(soaking.stages[0]).toMatchObject({ state: 'soaking', since: 60_000 })
    expect(advanced(soaking, [proved], 359).stage).toBe(0)
    const next = advanced(soaking, [proved], 360)
    expect(next).toMatchObject({ stage: 1, status: 'in_progress' })
    expect(next.stages.map(({ state }) => state)).toEqual(['passed', 'running'])
  })

  test('the soaking counts time that passed, and not how far the clock was set', () => {
    const leaps = [{ at: 3_700_000, ms: 3_600_000 }]
    const soaking = advanced(canary(), [proved])
    expect(advanced(soaking, [proved], 3_959, { leaps }).stage).toBe(0)
    expect(advanced(soaking, [proved], 3_960, { leaps }).stage).toBe(1)
  })

  test.each([
    [{ offline: [id('a')], offlineCount: 1 }, { max_offline: 0 }],
    [{ inError: [id('a')], inErrorCount: 1 }, { in_error: 0 }],
  ])('%o fails the gate', (sick, gate) => {
    const next = advanced(canary(), [{ ...proved, ...sick }])
    expect(next).toMatchObject({ status: 'aborted', statusReason: 'gate_failed', evidence: { gate } })
    const pausing = spec({ strategy: 'canary', canary: { ...CANARY, onGateFailure: 'pause' } })
    expect(advanced(canary({ spec: pausing }), [{ ...proved, ...sick }])).toMatchObject({
      status: 'paused',
      statusReason: 'gate_failed',
    })
  })

  test('canaries that nobody reaches for a day wait for a person', () => {
    const away = tally({ counts: { pending: 2 }, held: { offline: 2 } })
    expect(advanced(canary(), [away], 86_399).status).toBe('in_progress')
    expect(advanced(canary(), [away], 86_400)).toMatchObject({
      status: 'paused',
      statusReason: 'canary_stalled',
    })
  })
})

describe('places', () => {
  const ready = (...names: readonly string[]) =>
    names.map((name, since) => ({ deviceId: id(name), parentId: undefined, grants: 0, since }))
  const holding = (name: string, isDownloading = true) => ({
    ...{ deviceId: id(name), parentId: undefined, grants: 1, isDownloading },
  })
  const give = (
    more: Partial<JobTally>,
    about: { window?: number; starts?: number; downloads?: number } = {},
  ) => {
    const { window = 10, starts = Number.POSITIVE_INFINITY, downloads: downloadsMax = 256 } = about
    const running = {
      deployment: deployment(),
      count: countOf(deployment(), [tally(more)]),
      window,
      startsLeft: starts,
    }
    return planGrants([running], { downloadsMax, now: Millis(0) }).grants.map(({ deviceId }) => deviceId)
  }

  test('go to those that came first, as far as they last', () => {
    const candidates = ready('a', 'b', 'c').reverse()
    expect(give({ candidates })).toEqual(['a', 'b', 'c'])
    expect(give({ candidates, holders: [holding('x')] }, { window: 2 })).toEqual(['a'])
    expect(give({ candidates }, { starts: 2 })).toEqual(['a', 'b'])
    expect(give({ candidates, holders: [holding('x')] }, { downloads: 2 })).toEqual(['a'])
    expect(give({ candidates, holders: [holding('x', false)] }, { downloads: 2 })).toEqual(['a', 'b'])
  })

  test('a gateway and its sub-devices are never updated together', () => {
    const gateway = { deviceId: id('g'), parentId: undefined, grants: 0, since: 0 }
    const children = ['c1', 'c2'].map((name) => ({
      deviceId: id(name),
      parentId: id('g'),
      grants: 0,
      since: 1,
    }))
    expect(give({ candidates: [gateway, ...children] })).toEqual(['g'])
    expect(give({ candidates: [...children, { ...gateway, since: 2 }] })).toEqual(['c1', 'c2'])
    expect(give({ candidates: children, holders: [holding('g')] })).toEqual([])
    const running = {
      deployment: deployment(),
      count: countOf(deployment(), [tally({ candidates: children, holders: [holding('g')] })]),
      window: 10,
      startsLeft: 10,
    }
    const plan = planGrants([running], { downloadsMax: 10, now: Millis(0) })
    expect(plan.heldByFamily.map(({ deviceId }) => deviceId)).toEqual(['c1', 'c2'])
  })

  test('a device that is at work on one thing is given nothing else', () => {
    const returners = ['a', 'b'].map((name) => ({
      ...{ deviceId: id(name), parentId: undefined, version: '1.0' },
    }))
    expect(give({ candidates: ready('b', 'c'), returners, holders: [holding('a')] })).toEqual(['b', 'c'])
  })

  test('those that have to go back come first', () => {
    const returners = [{ deviceId: id('z'), parentId: undefined, version: '1.0' }]
    expect(give({ candidates: ready('a'), returners }, { window: 1 })).toEqual(['z'])
  })

  test('nobody outside the running stage has one', () => {
    const count = countOf(canary(), [
      tally({ candidates: ready('a') }),
      tally({ stage: 1, candidates: ready('b') }),
    ])
    const running = { deployment: canary(), count, window: 10, startsLeft: 10 }
    const about = { downloadsMax: 10, now: Millis(0) }
    expect(planGrants([running], about).grants.map(({ deviceId }) => deviceId)).toEqual(['a'])
    const paused = { ...running, deployment: canary({ status: 'paused' }) }
    expect(planGrants([paused], about).grants).toEqual([])
  })
})
