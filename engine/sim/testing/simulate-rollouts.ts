// Runs rollouts with one seed after the other.
import { expect } from 'vitest'
import { simulateRollout } from '../rollout.ts'

export async function simulateRollouts({
  from,
  to,
}: {
  readonly from: number
  readonly to: number
}): Promise<void> {
  for (let seed = from; seed <= to; seed++) {
    const { violations, ends } = await simulateRollout(seed)
    expect(violations, `seed ${seed}: ${ends.join(', ')}`).toEqual([])
  }
}
