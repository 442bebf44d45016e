// The places of a provisioning key: who holds one, and who may take another. Pure.
//
// A place is counted in the same write that records its claim, and a device with a claim is never counted again. So the
// limit holds across crashes, and a device that asks again gets the place it was counted for. A claim is removed once its
// device is registered, because from then on the device's record names the key.
import { LIMITS } from '../../engine/limits.ts'
import type { ProvisioningClaim, ProvisioningKey } from '../../engine/ports/users.ts'
import type { DeviceId, Millis } from '../../schemas/ids.ts'
import { type Refusal, refused } from '../refusal.ts'

export interface PlaceRequest {
  readonly deviceId: DeviceId
  readonly ip: string
  readonly now: Millis
  /** Whether the key has registered this device. */
  isRegistered(deviceId: DeviceId): boolean
}

export type PlaceResult = { readonly kind: 'taken' } | Refusal

/** Shortest delay after which a device that waits for approval should ask again. */
const PENDING_RETRY_SEC = 30

/** Why this device may not use the key, regardless of how many places are taken. */
export function refuseUse(
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

/** Gives the device a place. A device that has one keeps it. */
export function takePlace(
  before: ProvisioningKey,
  request: PlaceRequest,
): { readonly key: ProvisioningKey; readonly result: PlaceResult } {
  const { deviceId, ip, now } = request
  const ownClaim = before.claims.find((claim) => claim.deviceId === deviceId)
  if (ownClaim !== undefined) return { key: before, result: ownClaim.status === 'approved' ? TAKEN : PENDING }
  if (before.taken >= before.devicesMax)
    return { key: before, result: refused('PROVISIONING_KEY_USED_UP', { limit: before.devicesMax }) }
  const claims = before.claims.filter((claim) => !isSettled(claim, request))
  if (claims.length >= LIMITS.provisioningClaimsMax)
    return {
      key: before,
      result: refused('LIMIT_REACHED', {
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
  return { key, result: status === 'approved' ? TAKEN : PENDING }
}

/** Frees the place of a device that is not registered. Returns the same key if the device has no place. */
export function freePlace(key: ProvisioningKey, deviceId: DeviceId): ProvisioningKey {
  const claims = key.claims.filter((claim) => claim.deviceId !== deviceId)
  return claims.length === key.claims.length ? key : { ...key, taken: key.taken - 1, claims }
}

/** Returns the same key if the device is not waiting. */
export function approvePlace(key: ProvisioningKey, deviceId: DeviceId): ProvisioningKey {
  const isMeant = (claim: ProvisioningClaim) => claim.deviceId === deviceId && claim.status === 'pending'
  if (!key.claims.some(isMeant)) return key
  const claims = key.claims.map((claim) =>
    isMeant(claim) ? { ...claim, status: 'approved' as const } : claim,
  )
  return { ...key, claims }
}

/** Takes time proportional to at most the product of both lengths, which are 64 at most. */
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
      // Backtracks: the last star matches one more character.
      at = star + 1
      next = ++resume
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}

/** Whether the device is registered and every node knows about it by now. */
function isSettled({ deviceId, at }: ProvisioningClaim, { now, isRegistered }: PlaceRequest): boolean {
  return now - at > LIMITS.provisioningClaimKeptMs && isRegistered(deviceId)
}

const TAKEN: PlaceResult = { kind: 'taken' }
const PENDING: PlaceResult = refused('PROVISIONING_PENDING', { retry_after_sec: PENDING_RETRY_SEC })
