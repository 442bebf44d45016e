// ClickHouse goes down under a steady load and comes back.
import type { CutProxy } from '../../engine/adapters/testing/proxy.ts'
import type { Generator } from '../load/generator.ts'
import { LEAVES } from '../load/payloads.ts'
import { sleep, ticks, until } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench } from '../scenario.ts'
import type { Cluster } from '../targets/cluster.ts'

const scenario = 'cluster, ClickHouse away'
/** Messages per second. Each message has eight points. */
const OUTAGE_PER_SEC = 4_000
/** The nodes have caught up when fewer messages are missing than arrive in this time. */
const LAG_MS = 1_000
const PATIENCE_MS = 120_000

interface Outage {
  readonly servers: Cluster
  readonly generator: Generator
  /** The proxy between the nodes and ClickHouse. */
  readonly proxy: CutProxy
  readonly sentBefore: number
}

export async function measureOutage(bench: Bench, outage: Outage): Promise<void> {
  const { servers, generator, proxy, sentBefore } = outage
  const outageMs = bench.quick ? 10_000 : 60_000
  const stored = async () => Number(await servers.clickhouse.query('SELECT count() FROM points')) / LEAVES
  await until('the load before to be stored', { deadlineMs: PATIENCE_MS, everyMs: 100 }, async () =>
    (await stored()) >= sentBefore ? true : undefined,
  )
  const noise = new NoiseMeter()
  const startedAt = ticks()
  const load = generator.paced({
    messagesPerSec: OUTAGE_PER_SEC,
    durationMs: outageMs * 2,
    burst: 1,
    probe: undefined,
  })
  proxy.isClosed = true
  proxy.cut()
  await sleep(outageMs)
  const storedBefore = await stored()
  proxy.isClosed = false
  const healedAt = ticks()
  let resumedAt = 0
  const caughtUp = await until(
    'ClickHouse to be up to date',
    { deadlineMs: PATIENCE_MS, everyMs: 50 },
    async () => {
      const at = ticks()
      const count = await stored()
      if (resumedAt === 0 && count > storedBefore) resumedAt = at
      const due =
        sentBefore + (OUTAGE_PER_SEC * (Math.min(at, startedAt + outageMs * 2) - startedAt - LAG_MS)) / 1000
      return count >= due ? { at, count } : undefined
    },
  )
  const { messages } = await load
  await until('everything to be stored', { deadlineMs: PATIENCE_MS, everyMs: 100 }, async () =>
    (await stored()) >= sentBefore + messages ? true : undefined,
  )
  // FINAL counts a point once even if it was written again.
  const final = Number(await servers.clickhouse.query('SELECT count() FROM points FINAL')) / LEAVES
  const seconds = (caughtUp.at - healedAt) / 1000
  const perSec = (caughtUp.count - storedBefore) / seconds
  bench.add(
    {
      scenario,
      name: `catching up after ${outageMs / 1000} s without ClickHouse`,
      value: perSec / OUTAGE_PER_SEC,
      unit: '× real time',
      target: { kind: 'at_least', value: 5 },
      note:
        `${toDigits(perSec)} messages/s stored for ${toDigits(seconds)} s, until at most a second was missing; the ` +
        `first of them after ${toDigits((resumedAt - healedAt) / 1000)} s; ${toDigits(OUTAGE_PER_SEC)} messages/s went ` +
        `on${noise.note()}`,
    },
    {
      scenario,
      name: 'messages missing or duplicated afterwards',
      value: Math.abs(final - sentBefore - messages),
      unit: '',
      target: { kind: 'at_most', value: 0 },
      note: `${toDigits(sentBefore + messages)} sent, counted in ClickHouse`,
    },
  )
}
