// /auth/provisioning-keys and /auth/provision: admins create keys, and devices register themselves with them.
import { LIMITS } from '../../engine/limits.ts'
import type { ProvisioningClaim, ProvisioningKey } from '../../engine/ports/users.ts'
import { type DeviceId, Millis, parseDeviceId, toIso, UserId } from '../../schemas/ids.ts'
import { parseInstant } from '../../schemas/instant-text.ts'
import { API } from '../../schemas/operation.ts'
import {
  approveProvisioning,
  createProvisioningKey,
  deleteProvisioningKey,
  getProvisioningKey,
  listProvisioningKeys,
  provisionDevice,
  rejectProvisioning,
} from '../../schemas/operations/provisioning.ts'
import type { ProvisioningClaimBody, ProvisioningKeyBody } from '../../schemas/provisioning.ts'
import { provisionedBody } from '../auth/provisioned-body.ts'
import { PROVISIONING_KEY_FORMAT } from '../auth/provisioning-keys.ts'
import { approvePlace, freePlace } from '../auth/provisioning-places.ts'
import { answer } from '../http/answer.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { idFor } from '../http/repeats.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { unknownType } from './device-checks.ts'

const NO_STORE = { 'cache-control': 'no-store' }

export function provisioningRoutes(services: Services): readonly Route[] {
  return [...keyRoutes(services), ...claimRoutes(services), redeemRoute(services)]
}

function keyRoutes(services: Services): readonly Route[] {
  const { provisioningKeys, users } = services
  return [
    route(createProvisioningKey, async ({ body, user, repeatKey }) => {
      if (!services.deviceTypes.names.includes(body.type)) return unknownType(services, 'body')
      const expiresAt = expiryOf(body, services.clock.now())
      if (typeof expiresAt !== 'number') return expiresAt
      const { type, group, limit, id_pattern: pattern, approval = false } = body
      const about = {
        name: body.name?.trim() ?? `${limit} × ${type}`,
        deviceType: type,
        group: group ?? undefined,
        idPattern: pattern ?? undefined,
        needsApproval: approval,
        devicesMax: limit,
        expiresAt,
      }
      const wantedId = repeatKey && idFor(repeatKey, PROVISIONING_KEY_FORMAT.idPrefix, services.ids)
      const created = await provisioningKeys.create(about, user.id, wantedId)
      if (created.kind === 'refused') return created
      const headers = { ...NO_STORE, location: `${createProvisioningKey.path}/${created.key.id}` }
      return answer(201, { ...keyBody(created.key), key: created.text }, headers)
    }),
    route(listProvisioningKeys, async ({ query, url }) => {
      await users.catchUp()
      const found = users
        .listProvisioningKeys()
        .toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
      const window = toWindow(query)
      const page = found.slice(window.offset, window.offset + window.perPage).map(keyBody)
      return pageAnswer(page, found.length, window, url)
    }),
    route(getProvisioningKey, async ({ params }) => {
      await users.catchUp()
      const key = users.getProvisioningKey(UserId(params.provisioning_key_id))
      if (key === undefined) return keyNotFound()
      const waiting = key.claims.filter(({ deviceId }) => !isRegistered(services, key, deviceId))
      return answer(200, { ...keyBody(key), waiting: waiting.map(claimBody) })
    }),
    route(deleteProvisioningKey, async ({ params }) => {
      const isRemoved = await users.removeProvisioningKey(UserId(params.provisioning_key_id))
      return isRemoved ? answer(204, undefined) : keyNotFound()
    }),
  ]
}

function claimRoutes(services: Services): readonly Route[] {
  const { users } = services
  return [
    route(approveProvisioning, async ({ params }) => {
      const deviceId = parseDeviceId(params.waiting_id)
      const id = UserId(params.provisioning_key_id)
      const key =
        deviceId && (await users.editProvisioningKey(id, (before) => approvePlace(before, deviceId)))
      const claim = key?.claims.find((each) => each.deviceId === deviceId)
      return claim === undefined ? claimNotFound() : answer(200, claimBody(claim))
    }),
    route(rejectProvisioning, async ({ params }) => {
      const deviceId = parseDeviceId(params.waiting_id)
      let isFreed = false
      if (deviceId !== undefined)
        await users.editProvisioningKey(UserId(params.provisioning_key_id), (before) => {
          const after = isRegistered(services, before, deviceId) ? before : freePlace(before, deviceId)
          isFreed = after !== before
          return after
        })
      return isFreed ? answer(204, undefined) : claimNotFound()
    }),
  ]
}

function redeemRoute({ provisioning, engine }: Services): Route {
  return route(provisionDevice, async ({ body, ip, requestId }) => {
    const { key, name } = body
    const deviceId = parseDeviceId(body.device_id)
    if (deviceId === undefined) return refused('VALIDATION_FAILED')
    const result = await provisioning.provision({ key, deviceId, name, ip, requestId })
    if (result.kind === 'refused') return result
    const found = provisionedBody(result, engine.mqttUrl())
    if (result.isRepeated) return answer(200, found, NO_STORE)
    return answer(201, found, { ...NO_STORE, location: `${API}/devices/${deviceId}` })
  })
}

function expiryOf(
  { ttl_sec: ttlSec, expires_at: text }: { readonly ttl_sec?: number; readonly expires_at?: string | null },
  now: Millis,
): Millis | Refusal {
  if (text == null) return Millis(now + (ttlSec ?? LIMITS.provisioningKeySecDefault) * 1000)
  if (ttlSec !== undefined)
    return invalid('/ttl_sec', { code: 'NOT_ALLOWED', message: 'give either ttl_sec or expires_at' })
  const at = parseInstant(text, now)
  const most = now + LIMITS.provisioningKeySecMax * 1000
  if (at !== undefined && at > now && at <= most) return at
  return invalid('/expires_at', {
    code: 'OUT_OF_RANGE',
    message: 'must be an instant to come, within five years, as ISO 8601',
  })
}

function keyBody(key: ProvisioningKey): ProvisioningKeyBody {
  return {
    id: key.id,
    name: key.name,
    type: key.deviceType,
    group: key.group ?? null,
    limit: key.devicesMax,
    taken: key.taken,
    pending: key.claims.filter(({ status }) => status === 'pending').length,
    id_pattern: key.idPattern ?? null,
    approval: key.needsApproval,
    created_at: toIso(key.createdAt),
    created_by: key.createdBy,
    expires_at: toIso(key.expiresAt),
  }
}

function claimBody({ deviceId, status, at, ip }: ProvisioningClaim): ProvisioningClaimBody {
  return { device_id: deviceId, status, requested_at: toIso(at), ip }
}

/** The claim of a registered device is kept only briefly, so the device's record is checked as well. */
function isRegistered({ engine }: Services, key: ProvisioningKey, deviceId: DeviceId): boolean {
  return engine.devices.get(deviceId)?.registrationKey === key.id
}

const keyNotFound = () => refused('NOT_FOUND', { message: 'no such provisioning key' })
const claimNotFound = () => refused('NOT_FOUND', { message: 'no such device waits with this key' })
