// Runs the simulation with one seed after the other.
import { expect } from 'vitest'
import { simulate } from '../simulate.ts'

/** Returns the steps at which a process died. Fails after the last seed, with what each of them found. */
export async function simulateSeeds({
  from,
  to,
}: {
  readonly from: number
  readonly to: number
}): Promise<ReadonlySet<string>> {
  const died = new Set<string>()
  const found: string[] = []
  for (let seed = from; seed <= to; seed++) {
    const { violations, deaths } = await simulate(seed)
    for (const violation of violations) found.push(`${violation} (npm run sim -- --seed ${seed})`)
    for (const where of deaths) died.add(where)
  }
  expect(found).toEqual([])
  return died
}
