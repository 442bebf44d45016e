// Histories of metrics for charts: several at once, kept while newer ones are asked for, so that a range that moves with the
// clock never empties the picture. An interval that the service finds too fine is replaced by the one that it names, and
// that is told.
import { type Aggregate, INTERVALS, type Interval } from '../../../../schemas/vocabulary.ts'
import { fleet, RefusalError } from './client.ts'
import { type NewestAnswer, type NewestAnswerOptions, useNewestAnswer } from './newest-answer.ts'

export interface HistoryRequest {
  readonly deviceId: string
  readonly metrics: readonly string[]
  readonly fromMs: number
  readonly toMs: number
  readonly interval: Interval
  readonly aggregates: readonly Aggregate[]
  /** Tells apart two requests about the same device, for example of another period. */
  readonly name?: string
}

export interface Bucket {
  readonly time: string
  readonly [aggregate: string]: unknown
}

export interface History {
  readonly request: HistoryRequest
  /** The interval that the service gave. */
  readonly interval: Interval
  readonly series: ReadonlyMap<string, readonly Bucket[]>
}

export type Histories = NewestAnswer<readonly History[]>

/** `shape` tells what is shown: with another one, the earlier data goes. `revision` asks again. */
export function useHistories(requests: readonly HistoryRequest[], how: NewestAnswerOptions): Histories {
  return useNewestAnswer(JSON.stringify(requests), how, (signal) => historiesOf(requests, signal))
}

export const historiesOf = (
  requests: readonly HistoryRequest[],
  signal: AbortSignal,
): Promise<readonly History[]> => Promise.all(requests.map((request) => historyOf(request, signal)))

async function historyOf(request: HistoryRequest, signal: AbortSignal): Promise<History> {
  if (request.metrics.length === 0) return { request, interval: request.interval, series: new Map() }
  return await withFittingInterval(request.interval, (interval) => ask(request, interval, signal))
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

async function ask(request: HistoryRequest, interval: Interval, signal: AbortSignal): Promise<History> {
  const { deviceId, metrics, fromMs, toMs, aggregates } = request
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
  return { request, interval, series: new Map(series.map(({ metric, data }) => [metric, data])) }
}

/** The interval that the service names when it refuses one as too fine. */
function fittingInterval(error: unknown): Interval | undefined {
  if (!(error instanceof RefusalError) || error.status !== 422) return undefined
  const text = [error.problem.detail, ...(error.problem.errors ?? []).map(({ message }) => message)].join(' ')
  const [, named] = /interval=(\w+)/.exec(text) ?? []
  return INTERVALS.find((interval) => interval === named)
}
