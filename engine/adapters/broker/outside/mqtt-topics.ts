// Topics of the ingress: `ingest/<partition>/fleet/<device>/<suffix>` from EMQX's rules, or a device's own topic from a
// plain broker. A suffix that begins with `$` is an event of EMQX.
import { Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'

export interface LaneTopic {
  readonly deviceId: string
  readonly suffix: string
}

const INGEST = 'ingest/'
const FLEET = 'fleet/'

/** EMQX’s rule for uplinks (deploy/emqx/emqx.conf) has `token/get`, too: a plain broker does not tell who asks there. */
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

/** The partitions of a lane never change, because its session at the broker holds their messages. */
export function laneFilters(lane: number): readonly string[] {
  return partitionsOf(lane).map((partition) => `${INGEST}${partition}/#`)
}

export function partitionsOf(lane: number): readonly Partition[] {
  const count = LIMITS.partitions / LIMITS.lanes
  return Array.from({ length: count }, (_, index) => Partition(lane + index * LIMITS.lanes))
}

/** Every topic that a device may publish to, for a plain broker. */
export const PLAIN_FILTERS: readonly string[] = UPLINKS.flatMap((suffix) => [
  `${FLEET}+/${suffix}`,
  `${FLEET}+/sub/+/${suffix}`,
])
