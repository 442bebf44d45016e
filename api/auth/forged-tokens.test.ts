// Forged access tokens. Each is signed with the right secret unless its name says otherwise, and each gets the same
// answer, so that nobody learns why a token is refused.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { Millis } from '../../schemas/ids.ts'
import type { RestAnswer } from '../testing/rest.ts'
import { NOW, SECRET } from '../testing/rest.ts'
import { openKeyRing } from './key-ring.ts'
import { base64, deviceId, forge, openWithAdmin } from './testing/forge.ts'

const SECOND = Math.floor(NOW / 1000)
const typ = 'at+jwt'
const HS256 = { alg: 'HS256', typ } as const
const ME = 'GET /api/v1/auth/me'
const ACCOUNT = { email: 'ada@example.com', password: 'correct horse', name: 'Ada', role: 'admin' }

type SetUp = Awaited<ReturnType<typeof openWithAdmin>>
type Forgery = (setUp: SetUp) => string | Promise<string>

const cut = (token: string) => token.slice(0, token.lastIndexOf('.') + 1)
const withHeader =
  (header: object, key = SECRET): Forgery =>
  ({ claims }) =>
    forge(claims, { ...HS256, ...header }, key)
const withClaims =
  (change: object): Forgery =>
  ({ claims }) =>
    forge({ ...claims, ...change })
/** Replacements for the last letter: 32 bytes end with two bits that carry no information. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const besides = (letter: string) => LETTERS[LETTERS.indexOf(letter) ^ 1] ?? ''
const raw =
  (change: (claims: string) => string): Forgery =>
  ({ claims }) =>
    forge(change(JSON.stringify(claims)))

const SIGNATURES: Readonly<Record<string, Forgery>> = {
  'alg none': ({ claims }) => cut(forge(claims, { alg: 'none', typ })),
  'alg None': ({ claims }) => cut(forge(claims, { alg: 'None', typ })),
  'alg nOnE, signed': withHeader({ alg: 'nOnE' }),
  'alg none, with padding': ({ claims }) =>
    `${base64('{"alg":"none"}')}==.${base64(JSON.stringify(claims))}==.`,
  'no alg': ({ claims }) => forge(claims, { typ }),
  'alg HS512': withHeader({ alg: 'HS512' }),
  'alg RS256': withHeader({ alg: 'RS256' }),
  'alg as a list': withHeader({ alg: ['HS256'] }),
  'an empty signature': ({ token }) => cut(token),
  'half a signature': ({ token }) => token.slice(0, -20),
  'a flipped signature': ({ token }) => `${token.slice(0, -3)}${token.endsWith('AAA') ? 'BBB' : 'AAA'}`,
  'the signature of other claims': ({ token, claims }) => {
    const [head = '', , signature = ''] = token.split('.')
    return `${head}.${base64(JSON.stringify({ ...claims, sub: 'usr_else' }))}.${signature}`
  },
  'another secret': withHeader({}, 'another secret that is long enough, too'),
  'an empty secret': withHeader({}, ''),
}

const HEADERS: Readonly<Record<string, Forgery>> = {
  'wrong type': withHeader({ typ: 'JWT' }),
  'the type of a device token': withHeader({ typ: 'dev+jwt' }),
  'no type': withHeader({ typ: undefined }),
  'a critical header': withHeader({ crit: ['x'], x: 1 }),
  'a payload that is not encoded': withHeader({ crit: ['b64'], b64: false }),
  'a key of its own': withHeader({ jwk: { kty: 'oct', k: 'AA' } }, '\0'),
  'a key elsewhere': withHeader(
    { jku: 'http://127.0.0.1/jwks.json' },
    'a key elsewhere, long enough to be one',
  ),
  'a certificate elsewhere': withHeader(
    { x5u: 'http://127.0.0.1/crt' },
    'a key elsewhere, long enough to be one',
  ),
  'a key id that is not ours': withHeader({ kid: 'other' }),
  'a key id that is a path': withHeader({ kid: '../../dev/null' }, ''),
  'a key id that is SQL': withHeader({ kid: "' UNION SELECT 'AA" }, 'AA'),
  'a key id that every object has': withHeader({ kid: '__proto__' }),
  'a key id that is a list': withHeader({ kid: ['test'] }),
  'a compressed payload': withHeader({ enc: 'A256GCM', zip: 'DEF', alg: 'dir' }),
}

const CLAIMS: Readonly<Record<string, Forgery>> = {
  'wrong audience': withClaims({ aud: 'fleet-mqtt' }),
  'no audience': withClaims({ aud: undefined }),
  'two audiences': withClaims({ aud: ['fleet-api', 'fleet-mqtt'] }),
  'no expiry': withClaims({ exp: undefined }),
  'expiry as text': withClaims({ exp: '99999999999' }),
  'expiry 1e400': raw((claims) => claims.replace(/"exp":\d+/, '"exp":1e400')),
  'an expiry far away': withClaims({ exp: SECOND + 10 * 365 * 86_400 }),
  'not before the future': withClaims({ nbf: SECOND + 1000 }),
  'issued in the future': async ({ tokens, user }) =>
    (await tokens.issueAccess({ userId: user.id, at: Millis(NOW + 3_000_000) })).token,
  'no time of issue': withClaims({ iat: undefined }),
  'no subject': withClaims({ sub: undefined }),
  'an empty subject': withClaims({ sub: '' }),
  'a subject that is no user': withClaims({ sub: 'usr_nobody' }),
  'a subject in another script': withClaims({ sub: 'usr_аdmin0' }),
  'a subject that is a list': withClaims({ sub: ['usr_admin0'] }),
  'a subject said twice, the last time of nobody': raw((claims) =>
    claims.replace(/}$/, ',"sub":"usr_nobody"}'),
  ),
  'no id': withClaims({ jti: undefined }),
  'an id without a time': withClaims({ jti: 'at_!' }),
  'the id of a device token': withClaims({ jti: `dt_${'0'.repeat(26)}` }),
  'a login that is over': withClaims({ sid: 'fam_gone' }),
  'a login that is no text': withClaims({ sid: { toString: 'x' } }),
}

const SHAPES: Readonly<Record<string, Forgery>> = {
  nothing: () => '.',
  'two dots': () => '..',
  'four parts': ({ token }) => `${token}.x`,
  'five parts, as if encrypted': ({ token }) => `${token}.x.x`,
  '100 KiB': withClaims({ padding: 'x'.repeat(100 * 1024) }),
  'a list as payload': () => forge([1]),
  'null as payload': () => forge('null'),
  'no JSON at all': () => forge('not json'),
  'a token in a token': ({ token, claims }) =>
    forge({ ...claims, sub: undefined, token }, { ...HS256, cty: 'JWT' }),
  'a token as payload': ({ token }) => forge(token, { ...HS256, cty: 'JWT' }),
  'other letters for the same bytes': ({ token }) => token.replace('.', '=.'),
  'a signature with padding': ({ token }) => `${token}=`,
  'a signature with spare bits that are set': ({ token }) => token.slice(0, -1) + besides(token.slice(-1)),
  'a wrong API key': () => `flk_${'0'.repeat(26)}_${'A'.repeat(43)}`,
  'half an API key': () => 'flk_',
}

const account = async ({ request }: SetUp) => {
  await request('POST /api/v1/auth/register', { body: ACCOUNT })
  return (await request('POST /api/v1/auth/login', { body: ACCOUNT })).body
}
const OTHERS: Readonly<Record<string, Forgery>> = {
  'a device token': async ({ tokens }) =>
    (await tokens.issueDevice({ deviceId: deviceId('r'), validFrom: Millis(0), ttlSec: 1 * 3600 })).token,
  'a refresh token': async (setUp) => (await account(setUp)).refresh_token,
  'a token from before its user was deleted': async ({ engine, user, token }) => {
    engine.users.forget(user.id)
    return token
  },
  'a token from before its user was disabled': async ({ engine, user, token }) => {
    await engine.users.put({ ...user, disabled: true })
    return token
  },
  'a token from before its user got another role': async (setUp) => {
    const { access_token: token } = await account(setUp)
    const { body: me } = await setUp.request(ME, { token })
    await setUp.request(`PATCH /api/v1/users/${me.id}`, { token: setUp.token, body: { role: 'viewer' } })
    return token
  },
  'a token from before its login was ended': async (setUp) => {
    const { access_token: token, refresh_token } = await account(setUp)
    await setUp.request('POST /api/v1/auth/logout', { token, body: { refresh_token } })
    return token
  },
  'a token from before all logins were ended': async (setUp) => {
    const { access_token: token } = await account(setUp)
    await setUp.request('POST /api/v1/auth/logout', { token })
    return token
  },
}

/** The answer without the parts that differ from request to request. */
const shown = ({ status, headers, body }: RestAnswer) => ({
  status,
  challenge: headers['www-authenticate'],
  type: headers['content-type'],
  body: { ...body, request_id: '' },
})
const REFUSED = {
  status: 401,
  challenge: 'Bearer error="invalid_token"',
  type: 'application/problem+json; charset=utf-8',
  body: {
    type: '/problems/unauthenticated',
    title: 'No valid access token',
    status: 401,
    code: 'UNAUTHENTICATED',
    detail: 'the token is not valid',
    instance: '/api/v1/auth/me',
    request_id: '',
  },
}

async function check(setUp: SetUp, forgery: Forgery): Promise<void> {
  // Without a valid token that the same check accepts, this test would prove nothing.
  expect((await setUp.request(ME, { token: forge(setUp.claims) })).status).toBe(200)
  const token = await forgery(setUp)
  expect(shown(await setUp.request(ME, { token }))).toEqual(REFUSED)
}

describe.each([
  ['signature', SIGNATURES],
  ['header', HEADERS],
  ['claims', CLAIMS],
  ['shape', SHAPES],
])('of the wrong %s', (_, forgeries) => {
  let setUp: SetUp
  beforeAll(async () => {
    setUp = await openWithAdmin()
  })
  test.each(Object.entries(forgeries))('%s', (_name, forgery) => check(setUp, forgery))
})

describe('a token of the wrong kind or owner', () => {
  test.each(Object.entries(OTHERS))('%s', async (_name, forgery) => check(await openWithAdmin(), forgery))
})

test('a token signed with the public key as a secret is refused', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const noStore = { getFact: () => undefined, putFact: async () => {} }
  const keys = await openKeyRing({ signing: { kind: 'private_key', pem }, previousKeys: [] }, noStore)
  const { request, claims, token, tokens } = await openWithAdmin({ keys })
  expect((await request(ME, { token })).status).toBe(200)
  const [jwk] = tokens.publicKeys
  const kid = jwk?.kid
  const publicKey = createPublicKey(privateKey)
  const known = [
    String(publicKey.export({ type: 'spki', format: 'pem' })),
    String(publicKey.export({ type: 'pkcs1', format: 'pem' })),
    JSON.stringify(jwk),
    String(jwk?.n),
  ]
  for (const secret of known)
    for (const header of [HS256, { ...HS256, kid }])
      expect(shown(await request(ME, { token: forge(claims, header, secret) }))).toEqual(REFUSED)
})

test.each(['Bearer', 'Bearer ', 'Basic YTpi', 'Bearer a b', 'token', ''])(
  'header %j',
  async (authorization) => {
    const { request } = await openWithAdmin()
    const { status } = await request(ME, { headers: { authorization } })
    expect(status).toBe(401)
  },
)

test('the letter case of the scheme is ignored', async () => {
  const { request, token } = await openWithAdmin()
  const { status } = await request(ME, { headers: { authorization: `bEARER  ${token}` } })
  expect(status).toBe(200)
})

test('a token issued after its user’s tokens became valid is accepted, even if the clock was set back', async () => {
  const { request, tokens, engine, user } = await openWithAdmin()
  const ahead = Millis(NOW + 3_000_000)
  await engine.users.put({ ...user, tokensValidFrom: ahead })
  const { token } = await tokens.issueAccess({ userId: user.id, at: ahead })
  expect((await request(ME, { token })).status).toBe(200)
})
