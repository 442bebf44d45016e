// The last hour of the metrics that the list shows, for the devices in sight: asked for together, some devices at a time, and
// kept for a while when they scroll out.
import { useEffect, useRef, useState } from 'preact/hooks'
import { fleet } from '../../data/client.ts'
import { SPARK_BUCKET_MS, SPARK_BUCKETS, type SparkBucket, sparkValues } from '../../fleet/spark-values.ts'
import { now } from '../../words/time.ts'

/** One request may name so many devices. */
const DEVICES_MAX = 20
const KEPT_MAX = 1000
const GOOD_FOR_MS = 60_000

export type Sparks = (metric: string, deviceId: string) => readonly (number | null)[] | undefined

interface SparksAnswer {
  readonly byMetric: ReadonlyMap<string, readonly (number | null)[]>
  readonly at: number
}

export function useSparks(metrics: readonly string[], ids: readonly string[]): Sparks {
  const kept = useRef({ names: '', reads: new Map<string, SparksAnswer>() })
  const [, setRead] = useState(0)
  const names = metrics.join('\n')
  if (kept.current.names !== names) kept.current = { names, reads: new Map() }
  const key = metrics.length === 0 ? '' : ids.join(',')
  const step = Math.floor(now.value / GOOD_FOR_MS)
  useEffect(() => {
    if (key === '') return
    const { reads } = kept.current
    const abort = new AbortController()
    const due = ids.filter((id) => (reads.get(id)?.at ?? 0) <= Date.now() - GOOD_FOR_MS)
    const next = async (): Promise<void> => {
      const some = due.splice(0, DEVICES_MAX)
      if (some.length === 0 || abort.signal.aborted) return
      // Without a spark the value stands for itself; a failure of the whole is told by the values.
      const found = await ask(metrics, some, abort.signal).catch(() => undefined)
      if (found === undefined) return
      const at = Date.now()
      for (const id of some) {
        reads.delete(id)
        reads.set(id, { byMetric: found.get(id) ?? new Map(), at })
      }
      for (const oldest of reads.keys()) {
        if (reads.size <= KEPT_MAX) break
        reads.delete(oldest)
      }
      setRead((before) => before + 1)
      await next()
    }
    void next()
    return () => abort.abort()
  }, [key, names, step])
  return (metric, deviceId) => kept.current.reads.get(deviceId)?.byMetric.get(metric)
}

type SparksByDevice = ReadonlyMap<string, SparksAnswer['byMetric']>

async function ask(
  metrics: readonly string[],
  ids: readonly string[],
  signal: AbortSignal,
): Promise<SparksByDevice> {
  const nowMs = now.peek()
  const query = {
    metric: [metrics.join(',')],
    device_id: [...ids],
    from: new Date(nowMs - SPARK_BUCKETS * SPARK_BUCKET_MS).toISOString(),
    interval: '5m' as const,
    per_page: DEVICES_MAX,
  }
  const answer = await fleet.getFleetTelemetry({ query, signal })
  // One series for each device was asked for, of one metric or of several.
  if (!('total' in answer)) return new Map()
  return new Map(
    answer.data.map((one) => {
      const series =
        'series' in one ? one.series : [{ metric: 'metric' in answer ? answer.metric : '', data: one.data }]
      return [
        one.device_id,
        new Map(
          series.map(({ metric, data }) => [metric, sparkValues(data as readonly SparkBucket[], nowMs)]),
        ),
      ]
    }),
  )
}
