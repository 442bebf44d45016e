// The metrics of a device with their last values, kept up by the socket.
import { useEffect, useState } from 'preact/hooks'
import { type LiveAnswer, useAnswer } from '../../../data/answers.ts'
import { useWatch } from '../../../live/live.ts'
import { useStill } from '../../../live/still.ts'

export interface LiveMetric {
  readonly name: string
  readonly value: unknown
  readonly at: number
  readonly unit: string | null
}

export interface LiveMetrics {
  /** Undefined until they are known. */
  readonly list: readonly LiveMetric[] | undefined
  readonly answer: LiveAnswer<unknown>
}

/** A value is on the screen within a quarter of a second, the batches of the worker included. */
const THROTTLE_MS = 100

type HeardValues = ReadonlyMap<string, { readonly value: unknown; readonly at: number }>

export function useLiveMetrics(deviceId: string): LiveMetrics {
  const answer = useAnswer('listMetrics', { device_id: deviceId })
  const [heard, setHeard] = useState<HeardValues>(new Map())
  useEffect(() => setHeard(new Map()), [deviceId])
  useWatch(
    { channel: 'telemetry', filter: { device_id: deviceId }, throttle_ms: THROTTLE_MS },
    ({ events }) => {
      setHeard((before) => {
        const next = new Map(before)
        for (const { data } of events) {
          // Events of this channel have this shape.
          const { timestamp, data: fields } = data as { timestamp: string | null; data: object }
          if (timestamp === null) continue
          const at = Date.parse(timestamp)
          for (const [name, value] of leavesOf(fields))
            if (at >= (next.get(name)?.at ?? 0)) next.set(name, { value, at })
        }
        return next
      })
    },
  )
  const shown = useStill(heard)
  return { list: answer.data === undefined ? undefined : merged(answer.data.data, shown), answer }
}

interface MetricEntry {
  readonly metric: string
  readonly value: unknown
  readonly timestamp: string
  readonly unit: string | null
}

function merged(listed: readonly MetricEntry[], heard: HeardValues): readonly LiveMetric[] {
  const known = listed.map(({ metric: name, value, timestamp, unit }): LiveMetric => {
    const at = Date.parse(timestamp)
    const live = heard.get(name)
    return live === undefined || live.at < at ? { name, value, at, unit } : { name, unit, ...live }
  })
  const names = new Set(known.map(({ name }) => name))
  const added = [...heard].filter(([name]) => !names.has(name))
  const all = [...known, ...added.map(([name, live]) => ({ name, unit: null, ...live }))]
  return all.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Reports are nested; a metric is the dotted name of a leaf. */
function* leavesOf(fields: object, prefix = ''): Generator<readonly [string, unknown]> {
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      yield* leavesOf(value, `${prefix}${name}.`)
    else yield [`${prefix}${name}`, value]
}
