import { describe, expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { countOf, type DeploymentCount } from '../../domain/ota/deployment-count.ts'
import { deployment, spec } from '../../domain/ota/testing/deployment.ts'
import { Pace } from './pace.ts'

const at = (sec: number) => Millis(sec * 1_000)
const counted = (succeeded: number, failed = 0): DeploymentCount => ({
  ...countOf(deployment(), []),
  succeeded,
  failed,
})

describe('a ramp', () => {
  const ramped = () => new Pace(spec({ maxConcurrent: 10, ramp: { start: 1, factor: 2 } }))

  test('widens after as many successes in a row as it is wide, up to its limit', () => {
    const pace = ramped()
    const windows = [0, 1, 2, 3, 6, 7, 14, 15, 24, 25, 60].map((succeeded) => {
      pace.counted(counted(succeeded))
      return pace.window
    })
    expect(windows).toEqual([1, 2, 2, 4, 4, 8, 8, 10, 10, 10, 10])
  })

  test('halves with each failure, never below one, and restarts its row of successes', () => {
    const pace = ramped()
    pace.counted(counted(7))
    expect(pace.window).toBe(8)
    pace.counted(counted(14, 1))
    expect(pace.window).toBe(4)
    pace.counted(counted(17, 1))
    expect(pace.window).toBe(4)
    pace.counted(counted(18, 1))
    expect(pace.window).toBe(8)
    pace.counted(counted(18, 9))
    expect(pace.window).toBe(1)
  })

  test('starts again with another leader, and is never wider than it was', () => {
    expect(new Pace(spec({ maxConcurrent: 10, ramp: { start: 2, factor: 3 } }), at(0)).window).toBe(2)
  })
})

describe('a rate', () => {
  test('lets only so many jobs start within any minute', () => {
    const pace = new Pace(spec({ ratePerMinute: 2 }))
    expect(pace.startsLeft(at(0))).toBe(2)
    pace.started(at(0))
    pace.started(at(30))
    expect([30, 59, 60, 89, 90].map((sec) => pace.startsLeft(at(sec)))).toEqual([0, 0, 1, 1, 2])
  })

  test('counts jobs that an earlier leader may have started', () => {
    const pace = new Pace(spec({ ratePerMinute: 2 }), at(100))
    expect([pace.startsLeft(at(159)), pace.startsLeft(at(160))]).toEqual([0, 2])
  })

  test('is unlimited unless the deployment asks for one', () => {
    expect(new Pace(spec()).startsLeft(at(0))).toBe(Number.POSITIVE_INFINITY)
  })
})
