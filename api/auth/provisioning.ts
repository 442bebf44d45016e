// Lets a device register itself with a provisioning key, over REST or MQTT, and issues its token.
//
// - The place is counted before the device is registered, and the registration carries the key's id. So it can be repeated
//   after a crash at any point, without counting a device twice or exceeding the limit.
// V2. A device has one such token at a time: each revokes the previous ones, by the revision of the record. After its first
//     connection it gets no further token for the key, so nobody else with the key can take over the device.
// - The key itself appears in no log line, audit entry or answer.

import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { userAuthor } from '../../engine/domain/shadow/record.ts'
import type { Authorship, Engine, RequestOutcome } from '../../engine/index.ts'
import type { AuditEntry } from '../../engine/ports/audit.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { ProvisioningKey, Users } from '../../engine/ports/users.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import { API_LIMITS } from '../limits.ts'
import { RateLimit } from '../rates/rate-limit.ts'
import { type Refusal, refused } from '../refusal.ts'
import type { ProvisioningKeys } from './provisioning-keys.ts'
import { freePlace, type PlaceResult, refuseUse, takePlace } from './provisioning-places.ts'
import type { IssuedToken, Tokens } from './tokens.ts'

export interface ProvisioningRequest {
  readonly key: string
  readonly deviceId: DeviceId
  readonly ip: string
  /** If undefined, the device's id becomes its name. */
  readonly name?: string | undefined
  readonly requestId?: string | undefined
}

export interface ProvisioningResult {
  readonly kind: 'provisioned'
  readonly device: DeviceRecord
  readonly issued: IssuedToken
  /** True if the device had been registered before and asked again. */
  readonly isRepeated: boolean
}

export interface Provisioning {
  /** Checks whether the device may use the key, as far as the key alone tells. Takes no place. */
  check(request: ProvisioningRequest): Promise<ProvisioningKey | Refusal>
  provision(request: ProvisioningRequest): Promise<ProvisioningResult | Refusal>
}

export interface ProvisioningPorts {
  readonly keys: Pick<ProvisioningKeys, 'find'>
  readonly users: Pick<Users, 'editProvisioningKey'>
  readonly engine: Pick<Engine, 'devices' | 'view' | 'submit' | 'recordRefusal'>
  readonly tokens: Pick<Tokens, 'issueDevice'>
  readonly clock: Clock
}

export function createProvisioning({ keys, users, engine, tokens, clock }: ProvisioningPorts): Provisioning {
  const rate = new RateLimit('provisioning key', API_LIMITS.provisionsPerSecMax)

  async function check({ key: text, deviceId }: ProvisioningRequest): Promise<ProvisioningKey | Refusal> {
    const key = await keys.find(text)
    if (key === undefined) return refused('PROVISIONING_KEY_INVALID')
    return refuseUse(key, { deviceId, now: clock.now() }) ?? key
  }

  async function provision(
    request: ProvisioningRequest,
    key: ProvisioningKey,
  ): Promise<ProvisioningResult | Refusal> {
    const aheadMs = rate.take(key.id, clock.ticks())
    if (aheadMs <= 0)
      return refused('RATE_LIMIT_EXCEEDED', {
        message: `a provisioning key registers ${API_LIMITS.provisionsPerSecMax} devices a second`,
        retry_after_sec: Math.max(1, Math.ceil(-aheadMs / 1000)),
      })
    const existing = engine.devices.get(request.deviceId)
    if (existing !== undefined) return await issue(request, key, { device: existing, isRepeated: true })
    const place = await takeKeyPlace(request, key)
    if (place.kind === 'refused') return place
    const registered = await register(request, key)
    return registered.kind === 'refused'
      ? registered
      : await issue(request, key, { device: registered.view.device, isRepeated: false })
  }

  // by V2
  async function issue(
    request: ProvisioningRequest,
    key: ProvisioningKey,
    { device, isRepeated }: { readonly device: DeviceRecord; readonly isRepeated: boolean },
  ): Promise<ProvisioningResult | Refusal> {
    const { deviceId } = request
    let latest: DeviceRecord | undefined = device
    for (let tries = 0; tries < TRIES_MAX && latest !== undefined; tries++) {
      if (latest.registrationKey !== key.id)
        return alreadyExists(deviceId, 'the device was registered otherwise')
      if (latest.status === 'decommissioned') return refused('DEVICE_DECOMMISSIONED', { device_id: deviceId })
      if (latest.status !== 'provisioning') return alreadyExists(deviceId, CONNECTED)
      const submission = { kind: 'revoke', ifRevision: latest.revision } as const
      const revoked = await engine.submit(deviceId, submission, authorshipOf(request, key))
      if (revoked.kind === 'done') return await issueToken(revoked.view.device, isRepeated)
      if (revoked.code !== 'PRECONDITION_FAILED') return revoked
      latest = (await engine.view(deviceId))?.device
    }
    const message = 'the device asks several times at once, or is being changed'
    return refused('RATE_LIMIT_EXCEEDED', { message, retry_after_sec: 1 })
  }

  async function takeKeyPlace(
    { deviceId, ip }: ProvisioningRequest,
    { id }: ProvisioningKey,
  ): Promise<PlaceResult> {
    let result: PlaceResult = refused('PROVISIONING_KEY_INVALID')
    const now = clock.now()
    const isRegistered = (other: DeviceId) => engine.devices.get(other)?.registrationKey === id
    await users.editProvisioningKey(id, (before) => {
      // Judged by the current key, which may have changed since it was looked up.
      const place = takePlace(before, { deviceId, ip, now, isRegistered })
      result = place.result
      return place.key
    })
    return result
  }

  async function register(request: ProvisioningRequest, key: ProvisioningKey): Promise<RequestOutcome> {
    const { deviceId, name = deviceId } = request
    const { deviceType: type, group, id: idempotencyKey } = key
    const submission = { kind: 'register', name, type, group, idempotencyKey } as const
    const outcome = await engine.submit(deviceId, submission, authorshipOf(request, key))
    // Somebody else has just registered this id, so the place is of no use.
    if (outcome.kind === 'refused' && outcome.code === 'ALREADY_EXISTS')
      await users.editProvisioningKey(key.id, (before) => freePlace(before, deviceId))
    return outcome
  }

  async function issueToken(device: DeviceRecord, isRepeated: boolean): Promise<ProvisioningResult> {
    const ttlSec = BODY_LIMITS.deviceTokenHoursMax * 3600
    const about = { deviceId: device.id, validFrom: device.tokensValidFrom, ttlSec }
    return { kind: 'provisioned', device, issued: await tokens.issueDevice(about), isRepeated }
  }

  return {
    check,
    async provision(request) {
      const key = await check(request)
      if ('kind' in key) {
        engine.recordRefusal(refusalEntry(request, key.code, undefined))
        return key
      }
      const result = await provision(request, key)
      if (result.kind === 'refused') engine.recordRefusal(refusalEntry(request, result.code, key))
      return result
    },
  }
}

const CONNECTED =
  'the device has connected before: it renews the token that it has, or an operator issues it another'
/** How often the write is retried because another request for the same device came first. */
const TRIES_MAX = 8

function alreadyExists(deviceId: DeviceId, message: string): Refusal {
  return refused('ALREADY_EXISTS', { message, resource: 'device', device_id: deviceId })
}

const ACTION = 'provisionDevice'

/** The engine writes the audit entry together with the change. */
function authorshipOf(
  { deviceId, ip, requestId }: ProvisioningRequest,
  { id, name }: ProvisioningKey,
): Authorship {
  const actor = { type: 'provisioning_key', id, name } as const
  const target = `devices/${deviceId}`
  return { by: userAuthor(id), entry: { actor, action: ACTION, target, requestId, ip, detail: {} } }
}

/** Without the key's record there is no known actor. */
function refusalEntry(
  { deviceId, ip, requestId }: ProvisioningRequest,
  code: string,
  key: ProvisioningKey | undefined,
): AuditEntry {
  const actor =
    key === undefined
      ? ({ type: 'anonymous' } as const)
      : ({ type: 'provisioning_key', id: key.id, name: key.name } as const)
  return { actor, action: ACTION, outcome: 'refused', code, deviceId, requestId, ip }
}
