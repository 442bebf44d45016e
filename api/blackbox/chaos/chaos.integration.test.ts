// A minute of chaos and less, with real processes. The same seeds each time; `npm run chaos` draws others.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HAS_CLUSTER_SERVERS } from '../testing/cluster.ts'
import { type ChaosOptions, runChaos } from './chaos.ts'
import { openClusterSystem } from './cluster-system.ts'
import { openEmbeddedSystem } from './embedded-system.ts'

/** Besides the chaos itself: start, rest and the questions at the end, each of which has a deadline of its own. */
const AROUND_MS = 420_000

async function survives(
  options: Pick<ChaosOptions, 'seed' | 'durationMs' | 'open' | 'devices'>,
): Promise<void> {
  const said: string[] = []
  const say = (text: string) => void said.push(text)
  const { violations, kept, counts } = await runChaos({ ...options, perSecond: 2, callers: 6, say })
  const told = violations.slice(0, 20).map(({ check, device, text }) => `${check} ${device}: ${text}`)
  const where = `seed ${options.seed}, kept in ${join(String(kept), 'recording.jsonl')}: ${said.join('; ')}`
  expect(told, where).toEqual([])
  // A run in which nothing happened proves nothing.
  expect(counts).toMatchObject({ faults: expect.toSatisfy((faults: number) => faults > 2) })
  expect(counts['received']).toBeGreaterThan(0)
}

test(
  'one process and its database: nothing that was acknowledged is lost, doubled, shuffled or taken back',
  {
    timeout: 20_000 + AROUND_MS,
  },
  () => survives({ seed: 4, durationMs: 20_000, devices: 50, open: openEmbeddedSystem }),
)

test.skipIf(!HAS_CLUSTER_SERVERS)(
  'a cluster of seven nodes and its servers: the same',
  {
    timeout: 60_000 + AROUND_MS,
  },
  () => survives({ seed: 5, durationMs: 60_000, devices: 200, open: openClusterSystem }),
)
