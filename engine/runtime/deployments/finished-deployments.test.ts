import { expect, test } from 'vitest'
import { DeploymentId, Millis } from '../../../schemas/ids.ts'
import type { JobCounts } from '../../domain/ota/deployment.ts'
import { deployment } from '../../domain/ota/testing/deployment.ts'
import { LIMITS } from '../../limits.ts'
import { FinishedDeployments } from './finished-deployments.ts'

const END = Millis(1_000_000)
const later = (ms: number) => Millis(END + ms)

function finished(counts: JobCounts = { failed: 1 }): FinishedDeployments {
  const all = new FinishedDeployments()
  all.keep(deployment({ status: 'failed', finishedAt: END, counts }))
  return all
}

test('a finished deployment is counted again as long as one of its jobs may be proved late, and no longer', () => {
  const all = finished()
  expect(all.toCount(later(0)).map(({ id }) => id)).toEqual(['dep_1'])
  expect(all.toCount(later(LIMITS.otaLateMs))).toHaveLength(1)
  expect(all.toCount(later(LIMITS.otaLateMs + LIMITS.otaLateCountMs))).toEqual([])
})

test('finished deployments are not counted in every round', () => {
  const all = finished()
  expect(all.toCount(later(0))).toHaveLength(1)
  expect(all.toCount(later(LIMITS.otaLateCountMs - 1))).toEqual([])
  expect(all.toCount(later(LIMITS.otaLateCountMs))).toHaveLength(1)
})

test('nothing is counted if every job succeeded or was refused by its device', () => {
  expect(finished({ succeeded: 9, rejected: 1 }).toCount(later(0))).toEqual([])
})

test('a forgotten deployment is not counted', () => {
  const all = finished()
  all.forget(DeploymentId('dep_1'))
  expect(all.toCount(later(0))).toEqual([])
})
