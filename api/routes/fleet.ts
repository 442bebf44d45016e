// /fleet: the whole fleet as rows and as counts.
import { type FleetQuestion, placesOf } from '../../engine/domain/fleet/selection.ts'
import { toIso } from '../../schemas/ids.ts'
import { getFleetIndex, getFleetSummary } from '../../schemas/operations/fleet.ts'
import type { Caller } from '../auth/caller.ts'
import { scopeOf } from '../auth/scope.ts'
import { type Answer, answer, jsonAnswer } from '../http/answer.ts'
import { isFresh, quoted } from '../http/etag.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { type Refusal, refused } from '../refusal.ts'
import { toFilter } from './device-filter.ts'
import { FleetIndexes, type FleetIndexText } from './fleet-indexes.ts'
import { countedBy } from './fleet-summary.ts'
import { fleetTrendRoute } from './fleet-trend.ts'

interface Query {
  readonly group?: string
  readonly type?: string
  readonly tag?: string
}

export function fleetRoutes(services: Services): readonly Route[] {
  const { engine, clock } = services
  const indexes = new FleetIndexes(services)
  return [
    fleetTrendRoute(services),
    route(getFleetIndex, async ({ query, user, header }) => {
      const asked = toQuestion(services, query, user)
      if (asked.kind === 'refused') return asked
      if (query.since !== undefined) {
        const changes = await indexes.since(asked.question, query.since)
        return changes === undefined
          ? refused('CURSOR_EXPIRED', {})
          : jsonAnswer(changes.text, { etag: quoted(changes.cursor), ...PRIVATE })
      }
      const index = await indexes.whole(asked.question, query.names ?? 'with')
      const headers = { etag: quoted(index.cursor), ...PRIVATE }
      if (isFresh(header('if-none-match'), index.cursor)) return answer(304, undefined, headers)
      return takesGzip(header('accept-encoding'))
        ? packedAnswer(index, headers)
        : jsonAnswer(index.text, headers)
    }),
    route(getFleetSummary, async ({ query, user }) => {
      const asked = toQuestion(services, query, user)
      if (asked.kind === 'refused') return asked
      const table = await engine.fleet.table()
      const places = placesOf(table, asked.question)
      const counted = countedBy(table, places, query)
      return answer(200, { at: toIso(clock.now()), total: places.length, ...counted })
    }),
  ]
}

/** Users may not share a cached copy. */
const PRIVATE = { 'cache-control': 'private, no-cache', vary: 'accept-encoding' }

async function packedAnswer(
  index: FleetIndexText,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  const type = 'application/json; charset=utf-8'
  const packed = { ...headers, 'content-encoding': 'gzip', 'content-type': type }
  return answer(200, await index.packed(), packed)
}

function takesGzip(header: string | undefined): boolean {
  return /(?:^|[,\s])(?:gzip|\*)(?!\s*;\s*q=0(?:\.0*)?(?:\s*(?:,|$)))/i.test(header ?? '')
}

function toQuestion(
  services: Services,
  query: Query,
  user: Caller,
): { readonly kind: 'asked'; readonly question: FleetQuestion } | Refusal {
  // An unknown type is refused, as in lists of devices.
  const judged = toFilter(services, query.type === undefined ? {} : { type: query.type }, user)
  if (judged.kind === 'refused') return judged
  const { group, type, tag } = query
  return { kind: 'asked', question: { group, type, tag, within: scopeOf(user) } }
}
