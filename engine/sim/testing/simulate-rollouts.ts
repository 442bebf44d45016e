// Runs simulated rollouts, one seed after the other.
import { expect } from 'vitest'
import { simulateRollout } from '../rollout.ts'

/** Returns the kinds of update that the devices had. If `devices` is given, each rollout has that many. */
export async function simulateRollouts({
  from,
  to,
  devices,
}: {
  readonly from: number
  readonly to: number
  readonly devices?: number
}): Promise<ReadonlySet<string>> {
  const kinds = new Set<string>()
  for (let seed = from; seed <= to; seed++) {
    const { violations, ends } = await simulateRollout(seed, devices)
    const replay = `npm run sim -- --rollout --seed ${seed}${devices === undefined ? '' : ` --devices ${devices}`}`
    expect(violations, `replay it: ${replay}; ${ends.join(', ')}`).toEqual([])
    for (const end of ends) kinds.add(end.split(' ')[0] ?? end)
  }
  return kinds
}
