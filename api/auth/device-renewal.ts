// Renews the token of a device, over MQTT or REST. The new token lives as long as the current one, or shorter on request,
// so a token that was issued for an hour never becomes one for a year.
import type { TokenAnswer, TokenRequest } from '../../engine/ports/device-tokens.ts'
import type { Directory } from '../../engine/ports/store.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { type DeviceId, type Millis, toIso } from '../../schemas/ids.ts'
import type { TokenScope } from '../../schemas/vocabulary.ts'
import type { IssuedToken, Tokens } from './tokens.ts'

export interface RenewalPorts {
  readonly tokens: Pick<Tokens, 'issueDevice' | 'verifyDevice'>
  readonly devices: Pick<Directory, 'get'>
}

export type RenewalOutcome =
  | { readonly kind: 'renewed'; readonly deviceId: DeviceId; readonly issued: IssuedToken }
  | { readonly kind: 'void' }

export async function renewToken(
  { tokens, devices }: RenewalPorts,
  presented: string,
  ttlSec: number | undefined,
): Promise<RenewalOutcome> {
  const verified = await tokens.verifyDevice(presented)
  if (verified.kind === 'void') return { kind: 'void' }
  const { deviceId, issuedAt, expiresAt, mayPublish, maySubscribe } = verified.claims
  const device = devices.get(deviceId)
  if (device === undefined || device.status === 'decommissioned' || issuedAt < device.tokensValidFrom)
    return { kind: 'void' }
  const scopes: TokenScope[] = [
    ...(mayPublish ? ['publish' as const] : []),
    ...(maySubscribe ? ['subscribe' as const] : []),
  ]
  const lifetimeSec = boundedSec(ttlSec, lifetimeSecOf(issuedAt, expiresAt))
  const about = { deviceId, validFrom: device.tokensValidFrom, ttlSec: lifetimeSec, scopes }
  return { kind: 'renewed', deviceId, issued: await tokens.issueDevice(about) }
}

/** Answers `token/get` of a connected device. */
export function createTokenAnswers({
  tokens,
  devices,
}: RenewalPorts): (request: TokenRequest) => Promise<TokenAnswer | undefined> {
  return async ({ deviceId, ttlSec, tokenSec, issuedAt }) => {
    const device = devices.get(deviceId)
    if (device === undefined || device.status === 'decommissioned') return undefined
    if (issuedAt !== undefined && issuedAt < device.tokensValidFrom) return undefined
    const secMax = tokenSec ?? BODY_LIMITS.deviceTokenHoursDefault * 3600
    const about = { deviceId, validFrom: device.tokensValidFrom, ttlSec: boundedSec(ttlSec, secMax) }
    const { token, expiresAt } = await tokens.issueDevice(about)
    return { mqtt_token: token, expires_at: toIso(expiresAt) }
  }
}

export function lifetimeSecOf(issuedAt: Millis, expiresAt: Millis): number {
  return Math.ceil((expiresAt - issuedAt) / 1000)
}

function boundedSec(wanted: number | undefined, secMax: number): number {
  return Math.min(wanted ?? secMax, secMax)
}
