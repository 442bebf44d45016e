// Runs up to a minute of chaos with real processes and fixed seeds. `npm run chaos` draws other seeds.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HAS_CLUSTER_SERVERS } from '../testing/cluster.ts'
import { type ChaosOptions, runChaos } from './chaos.ts'
import { openClusterSystem } from './cluster-system.ts'
import { openEmbeddedSystem } from './embedded-system.ts'

/** Time for the start, the rest and the questions at the end, each of which has its own deadline. */
const AROUND_MS = 1_800_000

async function survives(
  options: Pick<ChaosOptions, 'seed' | 'durationMs' | 'open' | 'devices'>,
): Promise<void> {
  const said: string[] = []
  const say = (text: string) => void said.push(text)
  const { violations, kept, counts } = await runChaos({
    ...options,
    perSecond: 2,
    callers: 6,
    losesData: false,
    say,
  })
  const told = violations.slice(0, 20).map(({ check, device, text }) => `${check} ${device}: ${text}`)
  const where = `seed ${options.seed}, kept in ${join(String(kept), 'recording.jsonl')}: ${said.join('; ')}`
  expect(told, where).toEqual([])
  // A run without faults would prove nothing.
  expect(counts).toMatchObject({ faults: expect.toSatisfy((faults: number) => faults > 2) })
  expect(counts['received']).toBeGreaterThan(0)
}

test(
  'one process and its database neither lose, duplicate, reorder nor take back anything acknowledged',
  {
    timeout: 20_000 + AROUND_MS,
  },
  () => survives({ seed: 326, durationMs: 20_000, devices: 50, open: openEmbeddedSystem }),
)

test.skipIf(!HAS_CLUSTER_SERVERS)(
  'a cluster of seven nodes neither loses, duplicates, reorders nor takes back anything acknowledged',
  {
    timeout: 60_000 + AROUND_MS,
  },
  () => survives({ seed: 5, durationMs: 60_000, devices: 200, open: openClusterSystem }),
)
