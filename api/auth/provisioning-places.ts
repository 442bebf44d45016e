// The places of a provisioning key: who has one, and who may take another. Pure.
//
// A place is counted in the same write that notes its claim, and a device with a claim is never counted again: whoever
// dies in between, the limit holds and the device that asks again gets what it was counted for. A claim goes once its
// device is registered, because from then on the device's record names the key.
import { LIMITS } from '../../engine/limits.ts'
import type { ProvisioningClaim, ProvisioningKey } from '../../engine/ports/users.ts'
import type { DeviceId, Millis } from '../../schemas/ids.ts'
import { type Refusal, refused } from '../refusal.ts'

export interface PlaceRequest {
  readonly deviceId: DeviceId
  readonly ip: string
  readonly now: Millis
  /** True for a device that the key has registered. */
  isRegistered(deviceId: DeviceId): boolean
}

export type PlaceAnswer = { readonly kind: 'taken' } | Refusal

/** Shortest time after which a device that waits for approval is to ask again. */
const PENDING_RETRY_SEC = 30

/** Why the key is not for this device, whoever else has a place. */
export function unfit(
  key: ProvisioningKey,
  { deviceId, now }: Pick<PlaceRequest, 'deviceId' | 'now'>,
): Refusal | undefined {
  if (key.expiresAt <= now) return refused('PROVISIONING_KEY_EXPIRED')
  if (key.idPattern === undefined || matchesGlob(key.idPattern, deviceId)) return undefined
  return refused('PROVISIONING_ID_NOT_ALLOWED', {
    message: `the key is for device ids that match ${key.idPattern}`,
    id_pattern: key.idPattern,
  })
}

/** Gives the device a place, the one that it has if it has one. */
export function takePlace(
  before: ProvisioningKey,
  asking: PlaceRequest,
): { readonly key: ProvisioningKey; readonly taken: PlaceAnswer } {
  const { deviceId, ip, now } = asking
  const own = before.claims.find((claim) => claim.deviceId === deviceId)
  if (own !== undefined) return { key: before, taken: own.status === 'approved' ? TAKEN : PENDING }
  if (before.taken >= before.devicesMax)
    return { key: before, taken: refused('PROVISIONING_KEY_USED_UP', { limit: before.devicesMax }) }
  const claims = before.claims.filter((claim) => !isOver(claim, asking))
  if (claims.length >= LIMITS.provisioningClaimsMax)
    return {
      key: before,
      taken: refused('LIMIT_REACHED', {
        message: 'too many devices of this key wait; approve or reject some',
        limit: LIMITS.provisioningClaimsMax,
      }),
    }
  const status = before.needsApproval ? 'pending' : 'approved'
  const key = {
    ...before,
    taken: before.taken + 1,
    claims: [...claims, { deviceId, status, at: now, ip } as const],
  }
  return { key, taken: status === 'approved' ? TAKEN : PENDING }
}

/** Takes the place from a device that is not registered. The same key is handed back if it has none. */
export function freePlace(key: ProvisioningKey, deviceId: DeviceId): ProvisioningKey {
  const claims = key.claims.filter((claim) => claim.deviceId !== deviceId)
  return claims.length === key.claims.length ? key : { ...key, taken: key.taken - 1, claims }
}

/** The same key is handed back if the device does not wait. */
export function approvePlace(key: ProvisioningKey, deviceId: DeviceId): ProvisioningKey {
  const isMeant = (claim: ProvisioningClaim) => claim.deviceId === deviceId && claim.status === 'pending'
  if (!key.claims.some(isMeant)) return key
  const claims = key.claims.map((claim) =>
    isMeant(claim) ? { ...claim, status: 'approved' as const } : claim,
  )
  return { ...key, claims }
}

/** Matches in time of at most the product of both lengths, which are 64 at most. */
export function matchesGlob(pattern: string, text: string): boolean {
  let [at, next, star, resume] = [0, 0, -1, 0]
  while (next < text.length) {
    const wanted = pattern[at]
    if (wanted === '*') {
      star = at++
      resume = next
    } else if (wanted === '?' || wanted === text[next]) {
      at++
      next++
    } else if (star >= 0) {
      // The last star takes one character more.
      at = star + 1
      next = ++resume
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}

/** The device is registered, and every node knows of it by now. */
function isOver({ deviceId, at }: ProvisioningClaim, { now, isRegistered }: PlaceRequest): boolean {
  return now - at > LIMITS.provisioningClaimKeptMs && isRegistered(deviceId)
}

const TAKEN: PlaceAnswer = { kind: 'taken' }
const PENDING: PlaceAnswer = refused('PROVISIONING_PENDING', { retry_after_sec: PENDING_RETRY_SEC })
