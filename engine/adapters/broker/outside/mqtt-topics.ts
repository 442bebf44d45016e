// What the lanes of the ingress bring, by its topic: `ingest/<partition>/fleet/<device>/<suffix>` by EMQX's rules, or a
// device's own topic by a plain broker. A suffix that begins with `$` is an event of EMQX's.
import { Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'

export interface LaneTopic {
  readonly deviceId: string
  readonly suffix: string
}

const INGEST = 'ingest/'
const FLEET = 'fleet/'

/** As EMQX's rule for uplinks has them (deploy/emqx/emqx.conf). */
const UPLINKS = ['telemetry/#', 'status', 'log', 'shadow/reported', 'shadow/get', 'command/ack', 'ota/status']

export function parseLaneTopic(topic: string): LaneTopic | undefined {
  const start = topic.startsWith(INGEST) ? topic.indexOf('/', INGEST.length) + 1 : 0
  if (!topic.startsWith(FLEET, start)) return undefined
  const idStart = start + FLEET.length
  const idEnd = topic.indexOf('/', idStart)
  if (idEnd < 0 || idEnd + 1 === topic.length) return undefined
  return { deviceId: topic.slice(idStart, idEnd), suffix: topic.slice(idEnd + 1) }
}

export function laneClientId(lane: number): string {
  return `fleet:ingest:${lane}`
}

/** The partitions of a lane never change: its session has their messages. */
export function laneFilters(lane: number): readonly string[] {
  return partitionsOf(lane).map((partition) => `${INGEST}${partition}/#`)
}

export function partitionsOf(lane: number): readonly Partition[] {
  const count = LIMITS.partitions / LIMITS.lanes
  return Array.from({ length: count }, (_, index) => Partition(lane + index * LIMITS.lanes))
}

/** All of a plain broker's. */
export const PLAIN_FILTERS: readonly string[] = UPLINKS.flatMap((suffix) => [
  `${FLEET}+/${suffix}`,
  `${FLEET}+/sub/+/${suffix}`,
])
