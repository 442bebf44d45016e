// Values of metrics for the list of devices and for the map: those of the whole fleet are asked for now and then, so that the list can be
// ordered and filtered by them, and those of the devices in sight follow live.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { fleet } from '../data/client.ts'
import type { MetricColumns } from '../fleet/filter-rows.ts'
import { MetricValues, type SentValues } from '../fleet/metric-values.ts'
import { columns, fleetVersion } from './fleet-index.ts'
import { useWatch } from './live.ts'

const ASK_EVERY_MS = 60_000
/** The service sends values no more often. */
const THROTTLE_MS = 1000
/** Values for colours, which need no haste. */
const THROTTLE_ALL_MS = 5000

export interface MetricList {
  readonly values: MetricValues
  readonly columns: MetricColumns
  /** Grows with every value. */
  readonly version: number
  readonly error: unknown
  readonly reload: () => void
}

/** `inSight` are the devices whose values follow live. */
export function useMetricColumns(metrics: readonly string[], inSight: readonly string[] | 'all'): MetricList {
  const key = metrics.join('\n')
  const values = useRef(new MetricValues())
  const [version, setVersion] = useState(0)
  const [error, setError] = useState<unknown>(undefined)
  const [asked, setAsked] = useState(0)
  const renew = () => setVersion((before) => before + 1)
  useEffect(() => {
    if (metrics.length === 0) return
    const abort = new AbortController()
    const ask = () => {
      values.current.beginAnswer()
      return fleet
        .getLatestOfMany({ body: { filter: {}, metrics: [...metrics] }, signal: abort.signal })
        .then(
          (answer) => {
            setError(undefined)
            values.current.takeAnswer(answer)
            renew()
          },
          (reason: unknown) => {
            if (!abort.signal.aborted) setError(reason)
          },
        )
    }
    void ask()
    const timer = setInterval(() => {
      if (!document.hidden) void ask()
    }, ASK_EVERY_MS)
    return () => {
      abort.abort()
      clearInterval(timer)
    }
  }, [key, asked])
  const isWatching = metrics.length > 0 && inSight.length > 0
  useWatch(
    isWatching
      ? {
          channel: 'fleet',
          snapshot: false,
          throttle_ms: inSight === 'all' ? THROTTLE_ALL_MS : THROTTLE_MS,
          ...(inSight === 'all' ? {} : { filter: { device_ids: [...inSight] } }),
          values: metrics,
        }
      : undefined,
    ({ events, hasGap }) => {
      if (hasGap) setAsked((times) => times + 1)
      // Frames of this channel are columns.
      for (const { event, data } of events)
        if (event === 'fleet.delta') values.current.take(data as SentValues)
      renew()
    },
  )
  const loaded = useMemo(
    () => values.current.columnsOf(metrics, columns),
    [key, version, metrics.length === 0 ? 0 : fleetVersion.value],
  )
  return {
    values: values.current,
    columns: loaded,
    version,
    error: metrics.length === 0 ? undefined : error,
    reload: () => setAsked(asked + 1),
  }
}
