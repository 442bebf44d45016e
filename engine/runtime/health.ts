// The state of this node's dependencies, for `/readyz`.
import type { Ports } from '../ports/engine.ts'
import type { DependencyHealth } from '../ports/system.ts'
import type { EngineParts, EngineSettings } from './compose-engine.ts'

export interface HealthPorts {
  readonly ports: Ports
  readonly parts: EngineParts
  readonly settings: EngineSettings
  /** Addresses at which this node listens to devices. */
  readonly mqttUrls: readonly string[]
}

export function examine(node: HealthPorts): readonly DependencyHealth[] {
  const { ports, parts, settings } = node
  const fault = parts.ingest.fault()
  const isUp = ports.telemetry.isUp()
  const isCurrent = ports.store.isUp() && ports.users.isUp()
  return [
    { name: 'log', ok: fault === undefined, detail: fault?.message ?? 'appending' },
    { name: 'store', ok: isCurrent, detail: isCurrent ? 'current' : 'what others saved may be missing' },
    ...nodesHealth(node),
    ...(settings.listens ? [brokerHealth(node)] : []),
    { name: 'telemetry', ok: isUp, detail: isUp ? 'answering' : 'not answering; rows wait in the log' },
  ]
}

/** Empty if this node is the only one. */
function nodesHealth({ ports, parts, settings }: HealthPorts): readonly DependencyHealth[] {
  const { cluster } = ports
  if (cluster === undefined) return []
  const isMember = settings.shards === 0 || parts.members?.isCertain() === true
  const ok = cluster.mesh.isUp() && isMember
  const detail = isMember ? 'the other nodes cannot be reached' : 'what this node owns is not known'
  return [{ name: 'nodes', ok, detail: ok ? 'connected' : detail }]
}

function brokerHealth({ ports, parts, mqttUrls }: HealthPorts): DependencyHealth {
  const { outside } = ports.broker.counts()
  const detail = mqttUrls.join(' ')
  if (outside === undefined) return { name: 'broker', ok: mqttUrls.length > 0, detail }
  const { lanesOpen, lanesOwned } = outside
  const ok = lanesOpen === lanesOwned && parts.lanes?.isCertain() === true
  return { name: 'broker', ok, detail: `${detail}, ${lanesOpen} of ${lanesOwned} lanes are read` }
}
