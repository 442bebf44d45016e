// What a device asks for on `token/get`: an empty payload, or an object with `ttl_sec` and `client_token`.
import { BODY_LIMITS } from '../../../schemas/body-limits.ts'
import { isObject, type JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'
import { parseJsonPayload } from '../json-payload.ts'

export type TokenRequest =
  | { readonly kind: 'wanted'; readonly ttlSec: number | undefined; readonly clientToken: string | undefined }
  | { readonly kind: 'refused'; readonly detail: string }

export function readTokenRequest(payload: Uint8Array): TokenRequest {
  const json = payload.length === 0 ? {} : parseJsonPayload(payload)
  if (!isObject(json)) return refused('a request is empty or a JSON object in UTF-8')
  const { ttl_sec: ttlSec = null, client_token: token = null }: JsonObject = Object.assign(
    Object.create(null),
    json,
  )
  const { deviceTokenSecMin: least, deviceTokenSecMax: most } = BODY_LIMITS
  const isTtl =
    ttlSec === null || (Number.isInteger(ttlSec) && Number(ttlSec) >= least && Number(ttlSec) <= most)
  if (!isTtl) return refused(`ttl_sec must be a whole number from ${least} to ${most}`)
  if (token !== null && (typeof token !== 'string' || token.length > LIMITS.clientTokenCharsMax))
    return refused(`client_token must be text of at most ${LIMITS.clientTokenCharsMax} characters`)
  return {
    kind: 'wanted',
    ttlSec: ttlSec === null ? undefined : Number(ttlSec),
    clientToken: token ?? undefined,
  }
}

function refused(detail: string): TokenRequest {
  return { kind: 'refused', detail }
}
