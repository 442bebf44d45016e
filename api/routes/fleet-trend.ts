// How many devices there were, by status.

import { Millis, toIso } from '../../schemas/ids.ts'
import { getFleetTrend } from '../../schemas/operations/fleet.ts'
import { INTERVAL_SECONDS } from '../../schemas/vocabulary.ts'
import { scopeOf } from '../auth/scope.ts'
import { answer } from '../http/answer.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan } from '../http/span.ts'
import { API_LIMITS } from '../limits.ts'
import { outOfRange } from './telemetry-query.ts'

const DAY_MS = 86_400_000

export function fleetTrendRoute({ engine, clock }: Services): Route {
  return route(getFleetTrend, async ({ query, user }) => {
    const span = parseSpan(query, clock.now())
    if (span.kind === 'refused') return span
    const to = span.to ?? clock.now()
    const from = span.from ?? Millis(Math.max(API_LIMITS.spanMin, to - DAY_MS))
    if (from >= to) return outOfRange('/from', 'must be before `to`')
    const { interval = '5m', group } = query
    const widthMs = INTERVAL_SECONDS[interval] * 1000
    const buckets = Math.ceil((to - from) / widthMs) + 1
    if (buckets > API_LIMITS.bucketsMax)
      return outOfRange(
        '/interval',
        `would give ${buckets} buckets; at most ${API_LIMITS.bucketsMax} are allowed: use a longer interval or ask for less time`,
      )
    const scope = scopeOf(user)
    const within = [...(scope === undefined ? [] : [scope]), ...(group === undefined ? [] : [[group]])]
    const moments = await engine.trend({ from, to, widthMs, within })
    const data = moments.map(({ at, counts }) => ({
      time: toIso(at),
      total: Object.values(counts).reduce((sum, count) => sum + count, 0),
      by_status: counts,
    }))
    return answer(200, { interval, from: toIso(from), to: toIso(to), data })
  })
}
