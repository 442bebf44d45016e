// /shadows: the desired and the reported state of a device, and the delta.
import { shadowDelta } from '../../engine/domain/shadow/delta.ts'
import { toDocument } from '../../engine/domain/shadow/messages.ts'
import type { Shadow } from '../../engine/domain/shadow/record.ts'
import { checkState } from '../../engine/domain/shadow/state-check.ts'
import type { Engine } from '../../engine/index.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import {
  getShadow,
  getShadowDelta,
  getShadowHistory,
  setDesiredState,
} from '../../schemas/operations/shadows.ts'
import type { Caller } from '../auth/caller.ts'
import { noSuchDevice, visibleId } from '../auth/visible-device.ts'
import { type Answer, answer } from '../http/answer.ts'
import { isFresh, parseVersionMatch, quoted } from '../http/etag.ts'
import { feedAnswer } from '../http/feed-page.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan } from '../http/span.ts'
import { refused } from '../refusal.ts'

export function shadowRoutes(services: Services): readonly Route[] {
  return [...readRoutes(services), desiredRoute(services), historyRoute(services)]
}

function readRoutes({ engine }: Services): readonly Route[] {
  return [
    route(getShadow, async ({ params, user, header }) => {
      const found = await shadowOf(engine, params.device_id, user)
      if (found === undefined) return noSuchDevice()
      return conditional(found.shadow, header('if-none-match'), () => toDocument(found.id, found.shadow))
    }),
    route(getShadowDelta, async ({ params, user, header }) => {
      const found = await shadowOf(engine, params.device_id, user)
      if (found === undefined) return noSuchDevice()
      const { id, shadow } = found
      return conditional(shadow, header('if-none-match'), () => {
        const { state, metadata } = shadowDelta(shadow)
        return { device_id: id, version: shadow.version, delta: state, metadata }
      })
    }),
  ]
}

function desiredRoute({ engine }: Services): Route {
  return route(setDesiredState, async ({ params, query, body, user, header, requestId, sign }) => {
    const id = visibleId(engine, params.device_id, user)
    if (id === undefined) return noSuchDevice()
    const errors = checkState(body)
    if (errors.length > 0) return refused('VALIDATION_FAILED', { message: firstOf(errors), errors })
    const condition = parseVersionMatch(header('if-match'))
    if (condition.kind === 'unreadable')
      return refused('BAD_REQUEST', { message: 'If-Match must be one version, such as "7", or *' })
    const submitted = await engine.submit(
      id,
      {
        kind: 'desire',
        patch: body,
        mode: query.mode ?? 'merge',
        expectedVersion: condition.version,
        requestId,
      },
      sign(),
    )
    if (submitted.kind === 'refused') return submitted
    const shadow = submitted.shadow ?? (await engine.shadow(id))
    return shadow === undefined ? noSuchDevice() : documentAnswer(id, shadow)
  })
}

function historyRoute({ engine, clock }: Services): Route {
  return route(getShadowHistory, async ({ params, query, user, url }) => {
    const deviceId = visibleId(engine, params.device_id, user)
    if (deviceId === undefined) return noSuchDevice()
    const span = parseSpan(query, clock.now())
    if (span.kind === 'refused') return span
    const { section } = query
    const labels = section === undefined ? undefined : [section]
    const filter = { deviceId, kinds: ['shadow'] as const, from: span.from, to: span.to, labels }
    return feedAnswer(query, url, {
      read: (wanted) => engine.history({ ...filter, ...wanted }),
      count: () => engine.countHistory(filter),
      toBody: ({ body }) => body,
    })
  })
}

async function shadowOf(
  engine: Engine,
  text: string,
  user: Caller,
): Promise<{ readonly id: DeviceId; readonly shadow: Shadow } | undefined> {
  const id = visibleId(engine, text, user)
  const shadow = id === undefined ? undefined : await engine.shadow(id)
  return id === undefined || shadow === undefined ? undefined : { id, shadow }
}

function conditional({ version }: Shadow, ifNoneMatch: string | undefined, body: () => unknown): Answer {
  const etag = quoted(String(version))
  if (isFresh(ifNoneMatch, String(version))) return answer(304, undefined, { etag })
  return answer(200, body(), { etag })
}

function documentAnswer(id: DeviceId, shadow: Shadow): Answer {
  return answer(200, toDocument(id, shadow), { etag: quoted(String(shadow.version)) })
}

const firstOf = ([first]: ReturnType<typeof checkState>) =>
  first === undefined ? 'the state is not valid' : `${first.path || '/'}: ${first.message}`
