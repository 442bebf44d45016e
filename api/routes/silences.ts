// /alerts/silences: an admin may write all silences, an operator those that match nothing outside the operator's groups.
import { silenceState } from '../../engine/domain/alert/silence.ts'
import { isWithin } from '../../engine/domain/alert/target.ts'
import { isZone } from '../../engine/domain/telemetry/zone.ts'
import type { Silence, SilenceMatchers } from '../../engine/ports/alerts.ts'
import { type Millis, toIso } from '../../schemas/ids.ts'
import { INSTANT_EXPECTED, parseInstant } from '../../schemas/instant-text.ts'
import {
  createSilence,
  deleteSilence,
  editSilence,
  getSilence,
  listSilences,
} from '../../schemas/operations/silences.ts'
import type { Caller } from '../auth/caller.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import { type Answer, answer } from '../http/answer.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { idFor } from '../http/repeats.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'

const YEAR_MS = 366 * 86_400_000

export function silenceRoutes(services: Services): readonly Route[] {
  const { engine, clock, ids } = services
  return [
    route(listSilences, ({ query, user, url }) => {
      const states = query.state?.split(',')
      const all = engine.alerts
        .silences()
        .filter((silence) => isVisible(services, silence, user))
        .filter((silence) => states?.includes(silenceState(silence, clock.now())) ?? true)
        .filter(({ matchers }) => query.device_id === undefined || matchers.device_id === query.device_id)
        .toSorted((a, b) => b.created_at - a.created_at || (a.silence_id < b.silence_id ? -1 : 1))
      const window = toWindow(query)
      const page = all.slice(window.offset, window.offset + window.perPage)
      return pageAnswer(
        page.map((silence) => silenceBody(silence, clock.now())),
        all.length,
        window,
        url,
      )
    }),
    route(createSilence, async ({ body, user, repeatKey }) => {
      const now = clock.now()
      const startsAt = body.starts_at === undefined ? now : parseInstant(body.starts_at, now)
      const { matchers, comment, windows = [] } = body
      const silence = {
        silence_id: idFor(repeatKey, 'sil_', ids),
        matchers,
        starts_at: startsAt ?? Number.NaN,
        ends_at: parseInstant(body.ends_at, now) ?? Number.NaN,
        windows,
        comment,
        created_by: user.id,
        created_at: now,
        revision: 1,
      }
      return put(services, silence, { isNew: true, user })
    }),
    route(getSilence, ({ params, user }) => {
      const silence = visibleSilence(services, params.silence_id, user)
      return silence === undefined ? silenceNotFound() : answer(200, silenceBody(silence, clock.now()))
    }),
    route(editSilence, async ({ params, body, user }) => {
      const before = visibleSilence(services, params.silence_id, user)
      if (before === undefined || isOutside(services, before.matchers, user)) return silenceNotFound()
      const now = clock.now()
      const instant = (text: string | undefined, kept: number) =>
        text === undefined ? kept : (parseInstant(text, now) ?? Number.NaN)
      const silence = {
        ...before,
        matchers: body.matchers ?? before.matchers,
        starts_at: instant(body.starts_at, before.starts_at),
        ends_at: instant(body.ends_at, before.ends_at),
        windows: body.windows ?? before.windows,
        comment: body.comment ?? before.comment,
        revision: before.revision + 1,
      }
      return put(services, silence, { isNew: false, user })
    }),
    route(deleteSilence, async ({ params, user }) => {
      const before = visibleSilence(services, params.silence_id, user)
      if (before === undefined || isOutside(services, before.matchers, user)) return silenceNotFound()
      const now = clock.now()
      if (before.ends_at <= now) return answer(204, undefined)
      const silence = { ...before, ends_at: now, starts_at: Math.min(before.starts_at, now) }
      const ended = await engine.alerts.change({ kind: 'put_silence', silence, isNew: false })
      return ended.kind === 'refused' ? ended : answer(204, undefined)
    }),
  ]
}

async function put(
  services: Services,
  silence: Silence,
  { isNew, user }: { readonly isNew: boolean; readonly user: Caller },
): Promise<Answer | Refusal> {
  const now = services.clock.now()
  const mistake = checkSilence(silence)
  if (mistake !== undefined) return mistake
  if (isOutside(services, silence.matchers, user)) {
    const { device_id: id, group } = silence.matchers
    // To the caller, a device or group outside their own groups does not exist.
    if (id !== undefined) return refused('NOT_FOUND', { message: 'no such device' })
    if (group !== undefined) return refused('NOT_FOUND', { message: 'no such group' })
    return refused('FORBIDDEN', {
      message: 'a silence of an operator matches a group, or a device, within the operator’s groups',
      groups: scopeOf(user),
    })
  }
  const made = await services.engine.alerts.change({ kind: 'put_silence', silence, isNew })
  if (made.kind === 'refused') return made
  const headers = isNew ? { location: `${listSilences.path}/${silence.silence_id}` } : {}
  return answer(isNew ? 201 : 200, silenceBody(made.silence ?? silence, now), headers)
}

function checkSilence({ starts_at: startsAt, ends_at: endsAt, windows }: Silence): Refusal | undefined {
  if (Number.isNaN(startsAt))
    return invalid('/starts_at', { code: 'WRONG_FORMAT', message: `must be ${INSTANT_EXPECTED}` })
  if (Number.isNaN(endsAt))
    return invalid('/ends_at', { code: 'WRONG_FORMAT', message: `must be ${INSTANT_EXPECTED}` })
  if (endsAt <= startsAt || endsAt - startsAt > YEAR_MS)
    return invalid('/ends_at', {
      code: 'OUT_OF_RANGE',
      message: 'must come after starts_at, by at most a year',
    })
  const wrong = windows.findIndex(({ tz = 'UTC' }) => !isZone(tz))
  if (wrong === -1) return undefined
  return invalid(`/windows/${wrong}/tz`, { code: 'NOT_ALLOWED', message: 'is no time zone of the IANA' })
}

function silenceBody(silence: Silence, now: Millis) {
  const { silence_id, matchers, starts_at, ends_at, windows, comment, created_by, created_at } = silence
  return {
    silence_id,
    matchers,
    // Converted to instants when the silence was accepted.
    starts_at: toIso(starts_at as Millis),
    ends_at: toIso(ends_at as Millis),
    windows,
    comment,
    created_by,
    created_at: toIso(created_at as Millis),
    state: silenceState(silence, now),
  }
}

function visibleSilence(services: Services, id: string, user: Caller): Silence | undefined {
  const silence = services.engine.alerts.silences().find(({ silence_id: each }) => each === id)
  return silence !== undefined && isVisible(services, silence, user) ? silence : undefined
}

function isVisible({ engine }: Services, { matchers }: Silence, user: Caller): boolean {
  const scope = scopeOf(user)
  if (scope === undefined) return true
  const { device_id: id, group } = matchers
  if (id !== undefined) return isInScope(engine.devices.summary(id as never)?.group, scope)
  return group === undefined || scope.some((root) => isWithin(group, root))
}

function isOutside({ engine }: Services, { device_id: id, group }: SilenceMatchers, user: Caller): boolean {
  const scope = scopeOf(user)
  if (scope === undefined) return false
  if (group !== undefined && scope.some((root) => isWithin(group, root))) return false
  return id === undefined || !isInScope(engine.devices.summary(id as never)?.group, scope)
}

const silenceNotFound = () => refused('NOT_FOUND', { message: 'no such silence' })
