import { createPublicKey, createSecretKey, generateKeyPairSync } from 'node:crypto'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { Millis, UserId } from '../../schemas/ids.ts'
import { createIds, timeOfId } from '../ids.ts'
import { NOW, SECRET } from '../testing/rest.ts'
import { openKeyRing, type PreviousKey, type Signing } from './key-ring.ts'
import { deviceId, forge, openWithAdmin } from './testing/forge.ts'
import { openTokens } from './tokens.ts'

const SECOND = Math.floor(NOW / 1000)
const noStore = { getFact: () => undefined, putFact: async () => {} }

describe('an access token', () => {
  test('an access token expires after an hour, cached or not', async () => {
    const { request, token, clock, login } = await openWithAdmin()
    const unseen = (await login('viewer')).token
    expect((await request('GET /api/v1/auth/me', { token })).status).toBe(200)
    clock.at += 3_600_000
    for (const old of [token, unseen]) {
      const { status, body } = await request('GET /api/v1/auth/me', { token: old })
      expect([status, body.code]).toEqual([401, 'TOKEN_EXPIRED'])
    }
  })

  test('an access token is void once its user is deleted, or if it was revoked in the same second', async () => {
    const { request, token, user, engine, tokens } = await openWithAdmin()
    await engine.users.put({ ...user, tokensValidFrom: Millis(NOW + 1) })
    expect((await request('GET /api/v1/auth/me', { token })).status).toBe(401)
    const fresh = await tokens.issueAccess({ userId: user.id, at: Millis(NOW + 1) })
    expect((await request('GET /api/v1/auth/me', { token: fresh.token })).status).toBe(200)
    engine.users.forget(user.id)
    expect((await request('GET /api/v1/auth/me', { token: fresh.token })).status).toBe(401)
  })

  test('an access token gives the role of the record, not the role at its issue', async () => {
    const { request, token, user, engine } = await openWithAdmin()
    expect((await request('GET /api/v1/dead-letters', { token })).status).toBe(200)
    await engine.users.put({ ...user, role: 'viewer' })
    expect((await request('GET /api/v1/dead-letters', { token })).status).toBe(403)
  })
})

describe('a device token', () => {
  const issue = { deviceId: deviceId('r'), validFrom: Millis(0), ttlSec: 24 * 3600 }
  const allow = (action: string) => ({ permission: 'allow', action, topic: 'fleet/r/#' })
  const deny = { permission: 'deny', action: 'all', topic: '#' }
  const cloudOnly = ['command', 'shadow/desired', 'ota', 'sub/+/command', 'sub/+/shadow/desired', 'sub/+/ota']
  const denyForged = {
    permission: 'deny',
    action: 'publish',
    topics: cloudOnly.map((suffix) => `fleet/r/${suffix}`),
  }

  test('a device token has the claims of the specification', async () => {
    const { tokens } = await openWithAdmin()
    const { token } = await tokens.issueDevice(issue)
    expect(decodeJwt(token)).toEqual({
      sub: 'r',
      scope: 'device',
      topics: { publish: ['fleet/r/#'], subscribe: ['fleet/r/#'] },
      acl: [denyForged, allow('publish'), allow('subscribe'), deny],
      client_attrs: { device: 'r', issued: String(NOW), lasts: '86400' },
      aud: 'fleet-mqtt',
      iat: SECOND,
      exp: SECOND + 86_400,
      jti: expect.stringMatching(/^dt_/),
    })
  })

  test.each([
    [['publish'], [denyForged, allow('publish'), deny]],
    [['subscribe'], [allow('subscribe'), deny]],
  ] as const)('of scope %j says so in `topics` and, for EMQX, in `acl`', async (scopes, acl) => {
    const { tokens } = await openWithAdmin()
    const claims = decodeJwt((await tokens.issueDevice({ ...issue, scopes })).token)
    const [scope] = scopes
    expect(claims['topics']).toEqual({ publish: [], subscribe: [], [scope]: ['fleet/r/#'] })
    expect(claims['acl']).toEqual(acl)
  })

  test('a device token is refused if it is expired, foreign, or used as an access token', async () => {
    const { tokens, clock, token: access, claims } = await openWithAdmin()
    const { token } = await tokens.issueDevice(issue)
    expect(await tokens.verifyDevice(access)).toEqual({ kind: 'void', why: 'invalid' })
    const forged = { ...decodeJwt(token), sub: 'other' }
    expect(await tokens.verifyDevice(forge(forged, { alg: 'HS256', typ: 'dev+jwt' }))).toMatchObject({
      claims: { deviceId: 'other', mayPublish: false, maySubscribe: false },
    })
    expect((await tokens.verifyDevice(forge(claims, { alg: 'HS256', typ: 'dev+jwt' }))).kind).toBe('void')
    const unseen = await tokens.issueDevice(issue)
    expect(await tokens.verifyDevice(token)).toMatchObject({ claims: { deviceId: 'r' } })
    clock.at += 86_400_000
    for (const old of [token, token, unseen.token])
      expect(await tokens.verifyDevice(old)).toEqual({ kind: 'void', why: 'expired' })
  })

  test('a device token that was verified before vouches for no other spelling of it', async () => {
    const { tokens } = await openWithAdmin()
    const { token } = await tokens.issueDevice(issue)
    const [head = '', payload = '', signature = ''] = token.split('.')
    const claims = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), topics: {} }
    const other = Buffer.from(JSON.stringify(claims)).toString('base64url')
    for (let time = 0; time < 2; time++) {
      expect((await tokens.verifyDevice(token)).kind).toBe('valid')
      for (const forged of [`${head}.${other}.${signature}`, `${token} `, `${token}=`, `${head}.${payload}.`])
        expect(await tokens.verifyDevice(forged)).toEqual({ kind: 'void', why: 'invalid' })
    }
  })

  test('another holder of the key may issue device tokens with the claims of the specification', async () => {
    const { tokens, claims: access } = await openWithAdmin()
    const topics = { publish: ['fleet/r/#'], subscribe: [] }
    const claims = { sub: 'r', scope: 'device', topics, iat: SECOND, exp: SECOND + 2 }
    for (const header of [{ alg: 'HS256' }, { alg: 'HS256', typ: 'JWT' }])
      expect(await tokens.verifyDevice(forge(claims, header))).toEqual({
        kind: 'valid',
        claims: {
          deviceId: 'r',
          mayPublish: true,
          maySubscribe: false,
          issuedAt: SECOND * 1000 + 999,
          expiresAt: (SECOND + 2) * 1000,
        },
      })
    const plain = { alg: 'HS256', typ: 'JWT' }
    const wrong = [
      forge({ ...claims, aud: 'fleet-api' }, plain),
      forge({ ...claims, iat: undefined }, plain),
      forge({ ...claims, scope: undefined }, plain),
      forge(claims, { alg: 'HS256', typ: 'at+jwt' }),
      forge({ ...access, aud: undefined }, plain),
    ]
    for (const token of wrong) expect((await tokens.verifyDevice(token)).kind).toBe('void')
  })
})

describe('signing keys', () => {
  const clock = new StandingTime(NOW)
  const pem = (key: { export(options: { type: 'pkcs8'; format: 'pem' }): string | Buffer }) =>
    String(key.export({ type: 'pkcs8', format: 'pem' }))
  const tokensOf = async (signing: Signing, previousKeys: readonly PreviousKey[] = []) =>
    openTokens({ keys: await openKeyRing({ signing, previousKeys }, noStore), clock })
  const claim = { userId: UserId('usr_1'), at: Millis(NOW) }
  const rsa = {
    kind: 'private_key',
    pem: pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
  } as const
  const ed = { kind: 'private_key', pem: pem(generateKeyPairSync('ed25519').privateKey) } as const
  const hmac = { kind: 'secret', secret: SECRET } as const
  const other = { kind: 'secret', secret: 'another secret that is long enough, too' } as const

  test.each([
    ['RS256', rsa],
    ['EdDSA', ed],
  ])('%s signs and verifies; its public key is no secret for HS256', async (alg, signing) => {
    const tokens = await tokensOf(signing)
    const { token } = await tokens.issueAccess(claim)
    expect(decodeProtectedHeader(token).alg).toBe(alg)
    expect(await tokens.verifyAccess(token)).toMatchObject({ kind: 'valid', claims: { userId: 'usr_1' } })
    const publicPem = createPublicKey(signing.pem).export({ type: 'spki', format: 'pem' })
    const { kid } = decodeProtectedHeader(token)
    for (const header of [{}, { kid }]) {
      const confused = forge(decodeJwt(token), { alg: 'HS256', typ: 'at+jwt', ...header }, String(publicPem))
      expect((await tokens.verifyAccess(confused)).kind).toBe('void')
    }
  })

  test.each([
    ['RS256', rsa],
    ['EdDSA', ed],
  ])('%s: the published keys verify a token, and only the right one does', async (alg, signing) => {
    const tokens = await tokensOf(signing, [{ kind: 'pem', pem: ed.pem }, hmac])
    const { token } = await tokens.issueDevice({
      deviceId: deviceId('r'),
      validFrom: Millis(0),
      ttlSec: 1 * 3600,
    })
    const published = createLocalJWKSet({ keys: [...tokens.publicKeys] })
    const { payload, protectedHeader } = await jwtVerify(token, published, { currentDate: new Date(NOW) })
    expect([payload.sub, protectedHeader.alg]).toEqual(['r', alg])
    for (const key of tokens.publicKeys)
      expect(
        Object.keys(key).filter((member) => ['d', 'p', 'q', 'k', 'dp', 'dq', 'qi'].includes(member)),
      ).toEqual([])
  })

  test('a secret is not published, and its id does not reveal it', async () => {
    const tokens = await tokensOf(hmac)
    expect(tokens.publicKeys).toEqual([])
    const { kid } = decodeProtectedHeader((await tokens.issueAccess(claim)).token)
    expect(kid).toMatch(/^[\w-]{16}$/)
  })

  test.each([
    ['a secret by a secret', hmac, hmac, other],
    ['a secret by a private key', hmac, hmac, rsa],
    ['RSA by Ed25519', rsa, { kind: 'pem', pem: rsa.pem } as const, ed],
    [
      'a private key, of which the public half is kept',
      ed,
      { kind: 'pem', pem: String(createPublicKey(ed.pem).export({ type: 'spki', format: 'pem' })) } as const,
      rsa,
    ],
  ])(
    '%s: after a change of keys old tokens count, and new ones are signed with the new key',
    async (_, before, previous, after) => {
      const [old, now, forgotten] = [
        await tokensOf(before),
        await tokensOf(after, [previous]),
        await tokensOf(after),
      ]
      const { token } = await old.issueAccess(claim)
      expect((await now.verifyAccess(token)).kind).toBe('valid')
      expect((await forgotten.verifyAccess(token)).kind).toBe('void')
      const fresh = await now.issueAccess(claim)
      expect((await old.verifyAccess(fresh.token)).kind).toBe('void')
      expect((await forgotten.verifyAccess(fresh.token)).kind).toBe('valid')
    },
  )

  test('a token without a key id may be signed with any of the keys', async () => {
    const tokens = await tokensOf(rsa, [hmac])
    const { token } = await (await tokensOf(hmac)).issueAccess(claim)
    expect((await tokens.verifyAccess(forge(decodeJwt(token)))).kind).toBe('valid')
    expect((await tokens.verifyAccess(forge(decodeJwt(token), undefined, other.secret))).kind).toBe('void')
  })

  test('a secret is generated once and kept', async () => {
    const facts = new Map<string, string>()
    const store = {
      getFact: (name: string) => facts.get(name),
      putFact: async (name: string, value: string) => void facts.set(name, value),
    }
    const open = async () => {
      const keys = await openKeyRing({ signing: { kind: 'kept' }, previousKeys: [] }, store)
      return openTokens({ keys, clock })
    }
    const [first, second] = [await open(), await open()]
    const issued = await first.issueAccess(claim)
    expect((await second.verifyAccess(issued.token)).kind).toBe('valid')
  })

  test('a token that jose signed with our secret is valid', async () => {
    const tokens = await tokensOf(hmac)
    const token = await new SignJWT({ sub: 'usr_1' })
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
      .setAudience('fleet-api')
      .setIssuedAt(SECOND)
      .setExpirationTime(SECOND + 60)
      .setJti(createIds(clock).next('at_'))
      .sign(createSecretKey(Buffer.from(SECRET)))
    expect((await tokens.verifyAccess(token)).kind).toBe('valid')
  })
})

describe('ids', () => {
  test('ids carry their time, sort by it, and are all different', () => {
    const clock = new StandingTime(NOW)
    const ids = createIds(clock)
    const made = Array.from({ length: 2000 }, () => ids.next('x_'))
    expect(new Set(made).size).toBe(2000)
    expect(timeOfId(made[0] ?? '', 'x_')).toBe(NOW)
    clock.at += 1
    expect(ids.next('x_') > (made.sort().at(-1) ?? '')).toBe(true)
    expect(timeOfId('x_short', 'x_')).toBeUndefined()
  })
})
