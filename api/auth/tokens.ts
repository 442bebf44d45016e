// Signed tokens: a user's access token for REST and /ws, a device's token for MQTT.
//
// T1. Both are signed with the same key, and the broker may know the secret, so type and audience distinguish them.
// - The time of issue is in the token's id, in milliseconds. `iat` is in seconds, which is too coarse to distinguish a
//   token from one that was revoked in the same second.
// T3. [spec: Device plane] Anyone with the key may issue device tokens with only the claims of the specification. Type and
//     audience may be missing then, but not wrong, and `iat` is the time of issue.
// T4. An access token names its login, and becomes void when that login ends.
import { hash } from 'node:crypto'
import {
  decodeProtectedHeader,
  type JWK,
  type JWTPayload,
  errors as joseErrors,
  jwtVerify,
  SignJWT,
} from 'jose'
import type { Clock } from '../../engine/ports/clock.ts'
import { type DeviceId, Millis, parseDeviceId, UserId } from '../../schemas/ids.ts'
import { CLOUD_ONLY_SUFFIXES, TOPIC_ROOT, topicOf } from '../../schemas/topics.ts'
import { TOKEN_SCOPES, type TokenScope } from '../../schemas/vocabulary.ts'
import { createIds, timeOfId } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import type { KeyRing, TokenKey } from './key-ring.ts'

export interface AccessClaims {
  readonly userId: UserId
  /** The login of the token (T4); undefined if it has none. */
  readonly login: string | undefined
  readonly issuedAt: Millis
  readonly expiresAt: Millis
}
export interface DeviceClaims {
  readonly deviceId: DeviceId
  readonly mayPublish: boolean
  readonly maySubscribe: boolean
  readonly issuedAt: Millis
  readonly expiresAt: Millis
}
export type Verification<Claims> =
  | { readonly kind: 'valid'; readonly claims: Claims }
  | { readonly kind: 'void'; readonly why: 'expired' | 'invalid' }

export interface IssuedToken {
  readonly token: string
  readonly expiresAt: Millis
}
export interface Tokens {
  /** `at` is the time at which the user proved their identity. */
  issueAccess(about: {
    readonly userId: UserId
    readonly at: Millis
    readonly login?: string
  }): Promise<IssuedToken>
  /** Synchronous for a token that was verified before. */
  verifyAccess(token: string): Verification<AccessClaims> | Promise<Verification<AccessClaims>>
  /** The token is never issued before `validFrom`, even if the clock was set back. */
  issueDevice(about: {
    readonly deviceId: DeviceId
    readonly validFrom: Millis
    readonly ttlSec: number
    readonly scopes?: readonly TokenScope[] | undefined
  }): Promise<IssuedToken>
  verifyDevice(token: string): Promise<Verification<DeviceClaims>>
  /** The public keys with which others verify these tokens. Empty if they are signed with a secret. */
  readonly publicKeys: readonly JWK[]
  /** The id of the signing key. */
  readonly signingKeyId: string
}

const ACCESS = { typ: 'at+jwt', audience: 'fleet-api', prefix: 'at_', claims: ['jti', 'aud'] } as const
const DEVICE = { typ: 'dev+jwt', audience: 'fleet-mqtt', prefix: 'dt_', claims: [] } as const
/** The type of another issuer's token, if it has one (T3). */
const PLAIN_TYPE = 'JWT'
type TokenFormat = typeof ACCESS | typeof DEVICE

export function openTokens({ keys, clock }: { readonly keys: KeyRing; readonly clock: Clock }): Tokens {
  const { signing } = keys
  const trustedKeys: readonly TokenKey[] = [signing, ...keys.previous]
  const ids = createIds(clock)
  const accessTokens = new VerifiedTokens<AccessClaims>(clock, API_LIMITS.verifiedTokensMax)
  const deviceTokens = new VerifiedTokens<DeviceClaims>(clock, API_LIMITS.verifiedDeviceTokensMax)

  async function issue(
    format: TokenFormat,
    claims: JWTPayload & { readonly sub: string },
    { issuedAt, seconds }: { readonly issuedAt: Millis; readonly seconds: number },
  ): Promise<IssuedToken> {
    const expires = Math.floor(issuedAt / 1000) + seconds
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: signing.alg, typ: format.typ, kid: signing.id })
      .setAudience(format.audience)
      .setIssuedAt(Math.floor(issuedAt / 1000))
      .setExpirationTime(expires)
      .setJti(ids.next(format.prefix, issuedAt))
      .sign(signing.sign)
    return { token, expiresAt: Millis(expires * 1000) }
  }

  async function verify(format: TokenFormat, token: string): Promise<Verification<SignedToken>> {
    if (token.length > API_LIMITS.tokenCharsMax || !isCompact(token)) return INVALID
    let result: Verification<SignedToken> = INVALID
    for (const key of candidates(trustedKeys, token)) {
      result = await verifyBy(key, token, { format, now: clock.now() })
      if (result !== INVALID) break
    }
    return result
  }

  async function verifyNew(token: string): Promise<Verification<AccessClaims>> {
    const result = await verify(ACCESS, token)
    if (result.kind === 'void') return result
    const access = toAccessClaims(result.claims)
    if (access.kind === 'valid') accessTokens.add(token, access.claims)
    return access
  }

  async function verifyNewDevice(token: string, digest: string): Promise<Verification<DeviceClaims>> {
    const result = await verify(DEVICE, token)
    if (result.kind === 'void') return result
    const device = toDeviceClaims(result.claims)
    if (device.kind === 'valid') deviceTokens.add(digest, device.claims)
    return device
  }

  return {
    signingKeyId: signing.id,
    publicKeys: trustedKeys.flatMap(({ jwk }) => jwk ?? []),

    issueAccess: ({ userId, at, login }) =>
      issue(
        ACCESS,
        { sub: userId, ...(login === undefined ? {} : { sid: login }) },
        {
          issuedAt: at,
          seconds: API_LIMITS.accessTokenSec,
        },
      ),

    verifyAccess: (token) => accessTokens.get(token) ?? verifyNew(token),

    issueDevice({ deviceId, validFrom, ttlSec, scopes = TOKEN_SCOPES }) {
      const filters = (scope: TokenScope) => (scopes.includes(scope) ? [ownFilter(deviceId)] : [])
      const topics = { publish: filters('publish'), subscribe: filters('subscribe') }
      const acl = aclOf(deviceId, topics)
      const issuedAt = Millis(Math.max(clock.now(), validFrom))
      // `device` shows EMQX's rules that the client's token was verified. The other two let Fleet recognise a revoked
      // token and its expiry (deploy/emqx/emqx.conf). EMQX accepts only strings.
      const attributes = { device: deviceId, issued: String(issuedAt), lasts: String(ttlSec) }
      const claims = { sub: deviceId, scope: 'device', topics, acl, client_attrs: attributes }
      return issue(DEVICE, claims, { issuedAt, seconds: ttlSec })
    },

    async verifyDevice(token) {
      if (token.length > API_LIMITS.tokenCharsMax) return INVALID
      // There are many, they are long, and they are used once per connection.
      const digest = hash('sha256', token, 'base64')
      return deviceTokens.get(digest) ?? verifyNewDevice(token, digest)
    },
  }
}

/** The topic filter of a device's whole namespace. */
export const ownFilter = (deviceId: DeviceId): string => `${TOPIC_ROOT}/${deviceId}/#`

interface Topics {
  readonly publish: readonly string[]
  readonly subscribe: readonly string[]
}

/**
 * The same rights for EMQX, except publishing on the cloud's topics: EMQX would retain such a message there, and nobody
 * would correct it. If no entry matches, EMQX applies its own rules, so the last entry denies everything.
 */
function aclOf(deviceId: DeviceId, { publish, subscribe }: Topics) {
  const allowed = (action: string) => (topic: string) => ({ permission: 'allow', action, topic })
  const cloudOnly = ['', 'sub/+/'].flatMap((place) =>
    CLOUD_ONLY_SUFFIXES.map((suffix) => topicOf(deviceId, `${place}${suffix}`)),
  )
  return [
    ...publish.flatMap((topic) => [
      { permission: 'deny', action: 'publish', topics: cloudOnly },
      allowed('publish')(topic),
    ]),
    ...subscribe.map(allowed('subscribe')),
    { permission: 'deny', action: 'all', topic: '#' },
  ]
}

interface SignedToken {
  readonly subject: string
  readonly issuedAt: Millis
  readonly expiresAt: Millis
  readonly payload: JWTPayload
}
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** [RFC 7515] Refuses padding and spare bits that are set, so that a token has only one spelling. The other parts are
 *  signed as they are spelled. */
function isCompact(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1)
  return COMPACT.test(token) && Buffer.from(signature, 'base64url').toString('base64url') === signature
}

const INVALID = { kind: 'void', why: 'invalid' } as const
const EXPIRED = { kind: 'void', why: 'expired' } as const

/** The keys that may have signed the token. A token of another issuer need not name its key. */
function candidates(keys: readonly TokenKey[], token: string): readonly TokenKey[] {
  try {
    const { kid } = decodeProtectedHeader(token)
    return kid === undefined ? keys : keys.filter(({ id }) => id === kid)
  } catch {
    // The text is not a token.
    return []
  }
}

async function verifyBy(
  key: TokenKey,
  token: string,
  { format, now }: { readonly format: TokenFormat; readonly now: Millis },
): Promise<Verification<SignedToken>> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, key.verify, {
      algorithms: [key.alg],
      requiredClaims: ['sub', 'exp', 'iat', ...format.claims],
      currentDate: new Date(now),
    })
    return matchesFormat(format, payload.aud, protectedHeader.typ) ? toSigned(payload, format) : INVALID
  } catch (error) {
    if (error instanceof joseErrors.JWTExpired) return EXPIRED
    // Whatever fails, the token is not valid.
    return INVALID
  }
}

/** Checks type and audience (T1, T3). */
function matchesFormat(format: TokenFormat, audience: JWTPayload['aud'], type: string | undefined): boolean {
  if (format === ACCESS) return audience === format.audience && type === format.typ
  const isType = type === undefined || type === format.typ || type === PLAIN_TYPE
  return isType && (audience === undefined || audience === format.audience)
}

function toSigned(payload: JWTPayload, format: TokenFormat): Verification<SignedToken> {
  const { sub, exp, iat, jti } = payload
  // `exp: 1e400` would be parsed as Infinity and never expire.
  const isWellFormed = typeof sub === 'string' && Number.isSafeInteger(exp) && Number.isSafeInteger(iat)
  if (!isWellFormed || exp === undefined || iat === undefined) return INVALID
  const idTime = typeof jti === 'string' ? timeOfId(jti, format.prefix) : undefined
  // A token whose id carries no time counts as issued at the end of its second.
  const issuedAt = idTime ?? (format === DEVICE ? Millis(iat * 1000 + 999) : undefined)
  if (issuedAt === undefined) return INVALID
  return { kind: 'valid', claims: { subject: sub, issuedAt, expiresAt: Millis(exp * 1000), payload } }
}

function toAccessClaims({ subject, issuedAt, expiresAt, payload }: SignedToken): Verification<AccessClaims> {
  const { sid: login } = payload
  // Tokens of this service never live longer, and `iat` is rounded down to seconds.
  const lifetimeMs = expiresAt - Math.floor(issuedAt / 1000) * 1000
  const isOurs = login === undefined || typeof login === 'string'
  if (subject === '' || !isOurs || lifetimeMs > API_LIMITS.accessTokenSec * 1000) return INVALID
  return { kind: 'valid', claims: { userId: UserId(subject), login, issuedAt, expiresAt } }
}

function toDeviceClaims({ subject, issuedAt, expiresAt, payload }: SignedToken): Verification<DeviceClaims> {
  const deviceId = parseDeviceId(subject)
  const { scope, topics } = payload
  if (deviceId === undefined || scope !== 'device' || typeof topics !== 'object' || topics === null)
    return INVALID
  const own = ownFilter(deviceId)
  const has = (filters: unknown) => Array.isArray(filters) && filters.includes(own)
  const mayPublish = 'publish' in topics && has(topics.publish)
  const maySubscribe = 'subscribe' in topics && has(topics.subscribe)
  return { kind: 'valid', claims: { deviceId, mayPublish, maySubscribe, issuedAt, expiresAt } }
}

/** Caches the claims of tokens whose signature was verified. Their expiry is checked each time. */
class VerifiedTokens<Claims extends { readonly expiresAt: Millis }> {
  readonly #clock: Clock
  readonly #max: number
  readonly #claims = new Map<string, Claims>()

  constructor(clock: Clock, max: number) {
    this.#clock = clock
    this.#max = max
  }

  get(key: string): Verification<Claims> | undefined {
    const claims = this.#claims.get(key)
    if (claims === undefined) return undefined
    if (claims.expiresAt > this.#clock.now()) return { kind: 'valid', claims }
    this.#claims.delete(key)
    return EXPIRED
  }

  add(key: string, claims: Claims): void {
    if (this.#claims.size >= this.#max) {
      // Removes the oldest entry first: a Map keeps insertion order.
      for (const oldest of this.#claims.keys()) {
        this.#claims.delete(oldest)
        break
      }
    }
    this.#claims.set(key, claims)
  }
}
