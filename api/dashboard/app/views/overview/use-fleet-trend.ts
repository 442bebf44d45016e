// How the fleet, or one group of it, went over the last day.
import type { Query } from '../../address/filter.ts'
import { useAnswer } from '../../data/answers.ts'
import { now, serviceMs } from '../../words/time.ts'

const EVERY_MS = 60_000

/** The service knows how whole groups went, and not other filters: '' is all, undefined is another filter. */
export function trendGroup(query: Query): string | undefined {
  const [term, ...others] = query
  if (term === undefined) return ''
  const [group, ...more] = term.values
  const isGroup = term.name === 'group' && term.operator === undefined && !term.isNegated
  return others.length === 0 && more.length === 0 && isGroup ? group : undefined
}

export function useFleetTrend(group: string | undefined) {
  const answer = useAnswer(
    'getFleetTrend',
    { query: { interval: '5m', ...(group === '' || group === undefined ? {} : { group }) } },
    { everyMs: EVERY_MS, isWanted: group !== undefined },
  )
  return {
    trend: group === undefined ? undefined : answer.data?.data,
    nowMs: answer.at === 0 ? now.peek() : serviceMs(answer.at),
  }
}
