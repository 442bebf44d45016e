// Runs the simulation, one seed after the other.
import { expect } from 'vitest'
import { simulate } from '../simulate.ts'

export interface SeedsOutcome {
  /** The steps at which a process died. */
  readonly died: ReadonlySet<string>
  /** The hashes of the traces, in the order of the seeds. */
  readonly hashes: readonly string[]
}

/** Fails after the last seed, and lists the violations of all seeds. */
export async function simulateSeeds({
  from,
  to,
}: {
  readonly from: number
  readonly to: number
}): Promise<SeedsOutcome> {
  const died = new Set<string>()
  const [found, hashes]: [string[], string[]] = [[], []]
  for (let seed = from; seed <= to; seed++) {
    const { violations, deaths, hash } = await simulate(seed)
    for (const violation of violations) found.push(`${violation} (npm run sim -- --seed ${seed})`)
    for (const where of deaths) died.add(where)
    hashes.push(hash)
  }
  expect(found).toEqual([])
  return { died, hashes }
}
