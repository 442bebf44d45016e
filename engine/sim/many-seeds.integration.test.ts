import { expect, test } from 'vitest'
import { simulateCluster } from './cluster/simulate-cluster.ts'
import { BATCH_STEPS } from './faults.ts'
import { simulate } from './simulate.ts'
import { simulateSeeds } from './testing/simulate-seeds.ts'

// simulate.test.ts has the first four seeds.
test('116 more seeds: nothing acknowledged is lost, doubled, out of order or forgotten, wherever processes die', {
  timeout: 1_800_000,
}, async () => {
  const { died, hashes } = await simulateSeeds({ from: 5, to: 120 })
  // A process died before and after every step of a batch (R4).
  expect([...died]).toEqual(expect.arrayContaining([...BATCH_STEPS]))
  expect((await simulate(8)).hash).toBe(hashes[3])
})

// simulate-cluster.test.ts has the other seeds.
test.each([3, 21])(
  'cluster seed %i: nothing acknowledged is lost or doubled, whatever happens to the nodes and the store',
  { timeout: 1_800_000 },
  async (seed) => {
    const { violations } = await simulateCluster(seed)
    expect(violations, `npm run sim -- --cluster --seed ${seed}`).toEqual([])
  },
)
