// /alerts/silences: an admin may write all silences, an operator those that match nothing outside the operator's groups.
import { isSilenceSpan, SILENCE_SPAN_EXPECTED, silenceState } from '../../engine/domain/alert/silence.ts'
import { isWithin } from '../../engine/domain/alert/target.ts'
import { isZone } from '../../engine/domain/telemetry/zone.ts'
import type { AlertChangeOutcome, Silence, SilenceEdit, SilenceMatchers } from '../../engine/ports/alerts.ts'
import type { EditSilence } from '../../schemas/alert.ts'
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
import { createFor } from '../http/repeats.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'

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
      const wanted = toEdit(body, now)
      if (wanted.kind === 'refused') return wanted
      const { matchers, comment, windows = [] } = body
      const silence = {
        matchers,
        starts_at: wanted.edit.starts_at ?? now,
        ends_at: wanted.edit.ends_at ?? now,
        windows,
        comment,
        created_by: user.id,
        created_at: now,
        revision: 1,
      }
      if (!isSilenceSpan(silence))
        return invalid('/ends_at', { code: 'OUT_OF_RANGE', message: SILENCE_SPAN_EXPECTED })
      const foreign = refuseOutside(services, matchers, user)
      if (foreign !== undefined) return foreign
      const made = await createFor(
        repeatKey,
        { prefix: 'sil_', ids, clock },
        {
          create: (id) =>
            engine.alerts.change({ kind: 'create_silence', silence: { silence_id: id, ...silence } }),
          createdAt: (outcome) => (outcome.kind === 'changed' ? outcome.silence?.created_at : undefined),
        },
      )
      return silenceAnswer(made, { status: 201, now })
    }),
    route(getSilence, ({ params, user }) => {
      const silence = visibleSilence(services, params.silence_id, user)
      return silence === undefined ? silenceNotFound() : answer(200, silenceBody(silence, clock.now()))
    }),
    route(editSilence, async ({ params, body, user }) => {
      const before = visibleSilence(services, params.silence_id, user)
      if (before === undefined || isOutside(services, before.matchers, user)) return silenceNotFound()
      const now = clock.now()
      const wanted = toEdit(body, now)
      if (wanted.kind === 'refused') return wanted
      const foreign = body.matchers && refuseOutside(services, body.matchers, user)
      if (foreign !== undefined) return foreign
      const { edit } = wanted
      const edited = await engine.alerts.change({ kind: 'edit_silence', id: before.silence_id, edit })
      return silenceAnswer(edited, { status: 200, now })
    }),
    route(deleteSilence, async ({ params, user }) => {
      const before = visibleSilence(services, params.silence_id, user)
      if (before === undefined || isOutside(services, before.matchers, user)) return silenceNotFound()
      const ended = await engine.alerts.change({ kind: 'end_silence', id: before.silence_id })
      return ended.kind === 'refused' ? ended : answer(204, undefined)
    }),
  ]
}

/** The fields of a body as they are stored, without those that it leaves out. */
function toEdit(
  { matchers, comment, windows, starts_at: start, ends_at: end }: EditSilence,
  now: Millis,
): { readonly kind: 'edit'; readonly edit: SilenceEdit } | Refusal {
  const startsAt = start === undefined ? undefined : parseInstant(start, now)
  if (start !== undefined && startsAt === undefined) return wrongTime('/starts_at')
  const endsAt = end === undefined ? undefined : parseInstant(end, now)
  if (end !== undefined && endsAt === undefined) return wrongTime('/ends_at')
  const wrong = windows?.findIndex(({ tz = 'UTC' }) => !isZone(tz)) ?? -1
  if (wrong !== -1)
    return invalid(`/windows/${wrong}/tz`, { code: 'NOT_ALLOWED', message: 'is no time zone of the IANA' })
  const edit = {
    ...(matchers === undefined ? {} : { matchers }),
    ...(comment === undefined ? {} : { comment }),
    ...(windows === undefined ? {} : { windows }),
    ...(startsAt === undefined ? {} : { starts_at: startsAt }),
    ...(endsAt === undefined ? {} : { ends_at: endsAt }),
  }
  return { kind: 'edit', edit }
}

const wrongTime = (path: string) =>
  invalid(path, { code: 'WRONG_FORMAT', message: `must be ${INSTANT_EXPECTED}` })

function refuseOutside(services: Services, matchers: SilenceMatchers, user: Caller): Refusal | undefined {
  if (!isOutside(services, matchers, user)) return undefined
  const { device_id: id, group } = matchers
  // To the caller, a device or group outside their own groups does not exist.
  if (id !== undefined) return refused('NOT_FOUND', { message: 'no such device' })
  if (group !== undefined) return refused('NOT_FOUND', { message: 'no such group' })
  return refused('FORBIDDEN', {
    message: 'a silence of an operator matches a group, or a device, within the operator’s groups',
    groups: scopeOf(user),
  })
}

function silenceAnswer(
  outcome: AlertChangeOutcome,
  { status, now }: { readonly status: 200 | 201; readonly now: Millis },
): Answer | Refusal {
  if (outcome.kind === 'refused') return outcome
  const { silence } = outcome
  if (silence === undefined) return silenceNotFound()
  const headers = status === 201 ? { location: `${listSilences.path}/${silence.silence_id}` } : {}
  return answer(status, silenceBody(silence, now), headers)
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
