// Runs a few seeds for every change. many-seeds.integration.test.ts has more, and `npm run sim -- --cluster` tries many.
import { expect, test } from 'vitest'
import { simulateCluster } from './simulate-cluster.ts'

test.each([2, 8, 400])(
  'cluster seed %i: nothing acknowledged is lost or doubled, whatever happens to the nodes and the store',
  { timeout: 600_000 },
  async (seed) => {
    const { violations } = await simulateCluster(seed)
    expect(violations, `npm run sim -- --cluster --seed ${seed}`).toEqual([])
  },
)
