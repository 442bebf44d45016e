// GET /commands: the commands of all devices, newest first. A page combines what the records keep with the history.

import { byCreation, placeOf } from '../../engine/domain/command/kept-commands.ts'
import { isOpen } from '../../engine/domain/command/moves.ts'
import type { CommandFilter, CommandPlace } from '../../engine/ports/history.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { listFleetCommands } from '../../schemas/operations/commands.ts'
import { type FleetSelection, selectFleet } from '../auth/fleet-selection.ts'
import { scopeOf } from '../auth/scope.ts'
import { answer } from '../http/answer.ts'
import { nextLink } from '../http/cursor.ts'
import { parseCommandCursor, toCommandCursor } from '../http/fleet-cursor.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan } from '../http/span.ts'
import { refused } from '../refusal.ts'
import { parseStatuses } from './command-checks.ts'
import { keyOf, type ListedCommand, toBodies } from './command-list.ts'
import { orTooMuch } from './telemetry-query.ts'

/** How often the history is queried for one page at most. */
const ROUNDS_MAX = 5

type Engine = Services['engine']

interface CommandMatches {
  readonly rows: readonly ListedCommand[]
  /** Where the next page starts. */
  readonly next: CommandPlace | undefined
}

export function fleetCommandRoute(services: Services): Route {
  const { engine, clock } = services
  return route(listFleetCommands, async ({ query, user, url }) => {
    const { cursor, limit = BODY_LIMITS.perPageDefault } = query
    const wanted = parseStatuses(query.status)
    if (wanted.kind === 'refused') return wanted
    const span = parseSpan(query, clock.now())
    if (span.kind === 'refused') return span
    const before = cursor === undefined ? undefined : parseCommandCursor(cursor)
    if (cursor !== undefined && before === undefined)
      return refused('BAD_REQUEST', { message: 'cursor: must be the `next_cursor` of an earlier answer' })
    const selection = selectFleet(engine, query, scopeOf(user))
    if (selection === undefined) return answer(200, { data: [], next_cursor: null })
    const filter: CommandFilter = {
      name: query.command,
      createdBy: query.created_by,
      broadcastId: query.broadcast_id,
      statuses: wanted.statuses === undefined ? undefined : [...wanted.statuses],
      from: span.from,
      to: span.to,
      before,
      limit,
    }
    const page = await orTooMuch(findCommands(engine, selection, filter))
    if (page.kind === 'refused') return page
    const { rows, next } = page.found
    const nextCursor = next === undefined ? null : toCommandCursor(next)
    const headers = nextCursor === null ? {} : { link: nextLink(url, nextCursor) }
    const data = await toBodies(engine, rows, (id) => engine.devices.summary(id))
    return answer(200, { data, next_cursor: nextCursor }, headers)
  })
}

async function findCommands(
  engine: Engine,
  { deviceId, group, within, deviceIds, isSelected: isMeant }: FleetSelection,
  filter: CommandFilter,
): Promise<CommandMatches> {
  const { statuses, limit } = filter
  const kept = await engine.keptCommands({ ...filter, deviceId, group, within, limit: limit + 1 })
  const found = new Map<string, ListedCommand>(
    kept.map((each) => [keyOf(placeOf(each)), { place: placeOf(each), kept: each }]),
  )
  // Records keep every open command.
  if (statuses?.every(isOpen) === true) return toPage(found, { limit, down: undefined })
  let down = filter.before
  for (let round = 1; ; round++) {
    const past = await engine.pastCommands({ ...filter, deviceIds, before: down, limit: limit + 1 })
    const meant = past.filter((each) => isMeant(each.deviceId))
    const known = new Set((await engine.keptAmong(meant)).map((each) => keyOf(placeOf(each))))
    for (const each of meant) {
      const key = keyOf(each)
      if (!known.has(key) && !found.has(key)) found.set(key, { place: each, past: each })
    }
    down = past.length > limit ? past.at(-1) : undefined
    const page = toPage(found, { limit, down })
    if (down === undefined || page.rows.length >= limit || round === ROUNDS_MAX) return page
  }
}

/** The history has been read down to `down`. Undefined means to its end. */
function toPage(
  found: ReadonlyMap<string, ListedCommand>,
  { limit, down }: { readonly limit: number; readonly down: CommandPlace | undefined },
): CommandMatches {
  const known = [...found.values()]
    .filter(({ place }) => down === undefined || byCreation(place, down) <= 0)
    .sort((a, b) => byCreation(a.place, b.place))
  const rows = known.slice(0, limit)
  return { rows, next: known.length > limit ? rows.at(-1)?.place : down }
}
