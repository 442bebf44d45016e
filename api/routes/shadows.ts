// /shadows: the desired and the reported state of a device, and the delta.
import { shadowDelta } from '../../engine/domain/shadow/delta.ts'
import { toDocument } from '../../engine/domain/shadow/messages.ts'
import type { Shadow } from '../../engine/domain/shadow/record.ts'
import { checkState } from '../../engine/domain/shadow/state-check.ts'
import type { Engine } from '../../engine/index.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { DATABASE_WORK } from '../../schemas/operation.ts'
import {
  getShadow,
  getShadowDelta,
  getShadowHistory,
  revertShadow,
  setDesiredState,
} from '../../schemas/operations/shadows.ts'
import type { Caller } from '../auth/caller.ts'
import { deviceNotFound, visibleDeviceId } from '../auth/visible-device.ts'
import { type Answer, answer } from '../http/answer.ts'
import { isFresh, parseVersionMatch, quoted } from '../http/etag.ts'
import { feedAnswer } from '../http/feed-page.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan } from '../http/span.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { findPastShadow } from './past-shadow.ts'

export function shadowRoutes(services: Services): readonly Route[] {
  return [...readRoutes(services), desiredRoute(services), revertRoute(services), historyRoute(services)]
}

function readRoutes(services: Services): readonly Route[] {
  const { engine, clock, work } = services
  return [
    route(getShadow, async ({ params, query, user, header }) => {
      const found = await shadowOf(engine, params.device_id, user)
      if (found === undefined) return deviceNotFound()
      const { id, shadow: present } = found
      const { at_version: version = present.version } = query
      const tooMuch = version === present.version ? undefined : work.charge(user.id, DATABASE_WORK)
      if (tooMuch !== undefined) return tooMuch
      const past = await findPastShadow(services, present, { deviceId: id, version, now: clock.now() })
      if (past.kind === 'refused') return past
      return conditional(past.shadow, header('if-none-match'), () => toDocument(id, past.shadow))
    }),
    route(getShadowDelta, async ({ params, user, header }) => {
      const found = await shadowOf(engine, params.device_id, user)
      if (found === undefined) return deviceNotFound()
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
    const id = visibleDeviceId(engine, params.device_id, user)
    if (id === undefined) return deviceNotFound()
    const tooLarge = refusePatch(body)
    if (tooLarge !== undefined) return tooLarge
    const errors = checkState(body)
    if (errors.length > 0) return refused('VALIDATION_FAILED', { message: firstOf(errors), errors })
    const condition = parseVersionMatch(header('if-match'))
    if (condition.kind === 'unreadable') return unreadableVersion()
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
    return shadow === undefined ? deviceNotFound() : documentAnswer(id, shadow)
  })
}

/** The state itself is bounded where the patch is merged. A patch that is far larger is refused before all of it is
 *  checked, and sent to a shard that would have to unpack it. */
function refusePatch(patch: JsonObject): Refusal | undefined {
  const limit = API_LIMITS.desiredPatchBytesMax
  const actual = Buffer.byteLength(JSON.stringify(patch))
  const message = `a change of the desired state has at most ${limit} bytes, this has ${actual}`
  return actual <= limit
    ? undefined
    : refused('PAYLOAD_TOO_LARGE', { message, side: 'desired', limit, actual })
}

function revertRoute(services: Services): Route {
  const { engine, clock } = services
  return route(revertShadow, async ({ params, body, user, header, requestId, sign }) => {
    const found = await shadowOf(engine, params.device_id, user)
    if (found === undefined) return deviceNotFound()
    const { id: deviceId, shadow: present } = found
    const condition = parseVersionMatch(header('if-match'))
    if (condition.kind === 'unreadable') return unreadableVersion()
    const wanted = { deviceId, version: body.to_version, now: clock.now() }
    const past = await findPastShadow(services, present, wanted)
    if (past.kind === 'refused') return past
    // The past does not change, so a concurrent write affects only the version of the answer.
    const submitted = await engine.submit(
      deviceId,
      {
        kind: 'desire',
        patch: past.shadow.desired,
        mode: 'replace',
        expectedVersion: condition.version,
        requestId,
      },
      sign(),
    )
    if (submitted.kind === 'refused') return submitted
    const shadow = submitted.shadow ?? (await engine.shadow(deviceId))
    return shadow === undefined ? deviceNotFound() : documentAnswer(deviceId, shadow)
  })
}

function historyRoute({ engine, clock }: Services): Route {
  return route(getShadowHistory, async ({ params, query, user, url }) => {
    const deviceId = visibleDeviceId(engine, params.device_id, user)
    if (deviceId === undefined) return deviceNotFound()
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
  const id = visibleDeviceId(engine, text, user)
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

const unreadableVersion = () =>
  refused('BAD_REQUEST', { message: 'If-Match must be one version, such as "7", or *' })

const firstOf = ([first]: ReturnType<typeof checkState>) =>
  first === undefined ? 'the state is not valid' : `${first.path || '/'}: ${first.message}`
