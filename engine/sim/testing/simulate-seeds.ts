// Runs the simulation with one seed after the other.
import { expect } from 'vitest'
import { simulate } from '../simulate.ts'

/** Returns the steps at which a process died. */
export async function simulateSeeds({
  from,
  to,
}: {
  readonly from: number
  readonly to: number
}): Promise<ReadonlySet<string>> {
  const died = new Set<string>()
  for (let seed = from; seed <= to; seed++) {
    const { violations, deaths } = await simulate(seed)
    expect(violations, `replay it: npm run sim -- --seed ${seed}`).toEqual([])
    for (const where of deaths) died.add(where)
  }
  return died
}
