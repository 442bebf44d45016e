// What scenarios of the cluster profile do alike: they connect devices to its broker, and wait until ClickHouse has all
// points.
import { ticks, until } from '../measure/deadline.ts'
import type { Cluster } from '../targets/cluster.ts'
import type { Generator } from './generator.ts'
import { LEAVES } from './payloads.ts'

const STORED_MS = 300_000

/** Resolves with the time at which all points of the messages are stored. Asks ClickHouse directly, so that the nodes have
 *  no work. */
export function stored({ clickhouse }: Cluster, messages: number): Promise<number> {
  return until(`${messages} messages stored`, { deadlineMs: STORED_MS, everyMs: 100 }, async () =>
    Number(await clickhouse.query('SELECT count() FROM points')) >= messages * LEAVES ? ticks() : undefined,
  )
}

/** Connects devices, as which anybody may speak, because the broker does not authenticate. */
export async function openDevices(
  { broker }: Cluster,
  generator: Generator,
  { ids, ...how }: { readonly ids: readonly string[]; readonly ringSize: number; readonly greet: boolean },
): Promise<void> {
  const devices = ids.map((id) => ({ id, token: undefined }))
  await generator.open({ ...broker.mqtt, devices, connectsAtOnce: 256, ...how })
}
