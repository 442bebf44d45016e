// Histories of metrics for charts: several at once, kept while newer ones are asked for, so that a range that moves with the
// clock never empties the picture. An interval that the service finds too fine is replaced by the one that it names, and
// that is told.
import { type Aggregate, INTERVALS, type Interval } from '../../../../schemas/vocabulary.ts'
import { fleet, RefusalError } from './client.ts'
import { type NewestAnswer, type NewestAnswerOptions, useNewestAnswer } from './newest-answer.ts'

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

export type Histories = NewestAnswer<readonly History[]>

/** `shape` tells what is shown: with another one, the earlier data goes. `revision` asks again. */
export function useHistories(wishes: readonly HistoryWish[], how: NewestAnswerOptions): Histories {
  return useNewestAnswer(JSON.stringify(wishes), how, (signal) => historiesOf(wishes, signal))
}

export const historiesOf = (
  wishes: readonly HistoryWish[],
  signal: AbortSignal,
): Promise<readonly History[]> => Promise.all(wishes.map((wish) => historyOf(wish, signal)))

async function historyOf(wish: HistoryWish, signal: AbortSignal): Promise<History> {
  if (wish.metrics.length === 0) return { wish, interval: wish.interval, series: new Map() }
  return await withFittingInterval(wish.interval, (interval) => ask(wish, interval, signal))
}

/** Asks once more with the interval that the service names when it finds the first one too fine. */
export async function withFittingInterval<Answer>(
  wanted: Interval,
  ask: (interval: Interval) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask(wanted)
  } catch (error) {
    const fitting = fittingInterval(error)
    if (fitting === undefined || fitting === wanted) throw error
    return await ask(fitting)
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
function fittingInterval(error: unknown): Interval | undefined {
  if (!(error instanceof RefusalError) || error.status !== 422) return undefined
  const text = [error.problem.detail, ...(error.problem.errors ?? []).map(({ message }) => message)].join(' ')
  const [, named] = /interval=(\w+)/.exec(text) ?? []
  return INTERVALS.find((interval) => interval === named)
}
