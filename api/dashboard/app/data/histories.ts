// Histories of metrics for charts: several at once, kept while newer ones are asked for, so that a range that moves with the
// clock never empties the picture. An interval that the service finds too fine is replaced by the one that it names, and
// that is told.
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Aggregate, INTERVALS, type Interval } from '../../../../schemas/vocabulary.ts'
import { fleet, RefusalError } from './client.ts'

export interface HistoryWish {
  readonly deviceId: string
  readonly metrics: readonly string[]
  readonly fromMs: number
  readonly toMs: number
  readonly interval: Interval
  readonly aggregates: readonly Aggregate[]
  /** Tells apart two wishes about the same device, for example of another period. */
  readonly name?: string
}

export interface Bucket {
  readonly time: string
  readonly [aggregate: string]: unknown
}

export interface History {
  readonly wish: HistoryWish
  /** The interval that the service gave. */
  readonly interval: Interval
  readonly series: ReadonlyMap<string, readonly Bucket[]>
}

export interface Histories {
  readonly data: readonly History[] | undefined
  readonly error: unknown
  readonly isLoading: boolean
}

const NOTHING: Histories = { data: undefined, error: undefined, isLoading: false }

/** `shape` tells what is shown: with another one, the earlier data goes. `revision` asks again. */
export function useHistories(
  wishes: readonly HistoryWish[],
  { shape, revision }: { readonly shape: string; readonly revision: number },
): Histories {
  const [state, setState] = useState<Histories & { readonly shape: string }>({ ...NOTHING, shape })
  const asked = useRef(0)
  const key = JSON.stringify(wishes)
  useEffect(() => {
    asked.current += 1
    const mine = asked.current
    const abort = new AbortController()
    setState((before) => ({ ...(before.shape === shape ? before : NOTHING), isLoading: true, shape }))
    Promise.all(wishes.map((wish) => historyOf(wish, abort.signal))).then(
      (data) => {
        if (mine === asked.current) setState({ data, error: undefined, isLoading: false, shape })
      },
      (error: unknown) => {
        if (mine === asked.current && !abort.signal.aborted)
          setState((before) => ({ ...before, error, isLoading: false }))
      },
    )
    return () => abort.abort()
    // Equal wishes have an equal text.
  }, [key, shape, revision])
  return state.shape === shape ? state : { ...NOTHING, isLoading: true }
}

async function historyOf(wish: HistoryWish, signal: AbortSignal): Promise<History> {
  if (wish.metrics.length === 0) return { wish, interval: wish.interval, series: new Map() }
  try {
    return await ask(wish, wish.interval, signal)
  } catch (error) {
    const fitting = fittingInterval(error)
    if (fitting === undefined || fitting === wish.interval) throw error
    return await ask(wish, fitting, signal)
  }
}

async function ask(wish: HistoryWish, interval: Interval, signal: AbortSignal): Promise<History> {
  const { deviceId, metrics, fromMs, toMs, aggregates } = wish
  const answer = await fleet.getTelemetryHistory({
    device_id: deviceId,
    query: {
      metric: [...metrics],
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
      interval,
      agg: [aggregates.join(',')],
    },
    signal,
  })
  const series = 'series' in answer ? answer.series : [{ metric: answer.metric, data: answer.data }]
  return { wish, interval, series: new Map(series.map(({ metric, data }) => [metric, data])) }
}

/** The interval that the service names when it refuses one as too fine. */
export function fittingInterval(error: unknown): Interval | undefined {
  if (!(error instanceof RefusalError) || error.status !== 422) return undefined
  const text = [error.problem.detail, ...(error.problem.errors ?? []).map(({ message }) => message)].join(' ')
  const [, named] = /interval=(\w+)/.exec(text) ?? []
  return INTERVALS.find((interval) => interval === named)
}
