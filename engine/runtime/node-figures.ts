// The figures that this node contributes when any node is asked for the state of the service.
import type { Registry } from 'prom-client'
import type { Millis } from '../../schemas/ids.ts'
import type { NodeFigures } from '../ports/system.ts'
import { examine, type HealthPorts } from './health.ts'

export async function nodeFigures(node: HealthPorts & { readonly startedAt: Millis }): Promise<NodeFigures> {
  const { metrics, shards, leader } = node.parts
  return {
    version: node.settings.build.version,
    startedAt: node.startedAt,
    isLeading: leader.isLeading(),
    dependencies: examine(node),
    partitions: shards.lags(),
    ...metrics.throughput.now(),
    samples: await samplesOf(metrics.registry),
  }
}

/** Samples by their names in the Prometheus text. Leaves out buckets and quantiles, which need many scrapes. */
async function samplesOf(registry: Registry): Promise<Readonly<Record<string, number>>> {
  const samples: Record<string, number> = {}
  // Values of histograms have a `metricName`, which the type for all metrics leaves out.
  for (const { name, values } of await registry.getMetricsAsJSON())
    for (const value of values as readonly (Sample & (typeof values)[number])[]) {
      const { le, quantile, ...labels } = value.labels
      if (le !== undefined || quantile !== undefined || !Number.isFinite(value.value)) continue
      const texts = Object.entries(labels).map(([label, text]) => `${label}="${text}"`)
      samples[`${value.metricName ?? name}${texts.length === 0 ? '' : `{${texts.join(',')}}`}`] = value.value
    }
  return samples
}

interface Sample {
  readonly metricName?: string
}
