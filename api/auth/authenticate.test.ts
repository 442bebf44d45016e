import { createSecretKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { CachedUsers } from '../../engine/adapters/users/cached-users.ts'
import { Directory } from '../../engine/adapters/users/directory.ts'
import type { User } from '../../engine/ports/users.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { Millis, UserId } from '../../schemas/ids.ts'
import { createIds } from '../ids.ts'
import { createApiKeys } from './api-keys.ts'
import { createAuthenticate } from './authenticate.ts'
import { openTokens } from './tokens.ts'

const NOW = 1_760_000_000_000
const ADA: User = {
  id: UserId('usr_ada'),
  email: 'ada@example.org',
  name: 'Ada',
  role: 'admin',
  groups: [],
  passwordHash: '',
  disabled: false,
  createdAt: Millis(NOW),
  lastLoginAt: undefined,
  tokensValidFrom: Millis(NOW),
}

/** Two nodes. One sees the writes of the other only when it catches up. */
function openTwo() {
  const clock = new StandingTime(NOW)
  const [here, there] = [new Directory(), new Directory()]
  const late: Parameters<Directory['apply']>[0][] = []
  let catchUps = 0
  const one = new CachedUsers(here, async (changes) => {
    here.apply(changes)
    late.push(changes)
    return 'written'
  })
  let hasStoodStill = false
  const catchUp = async () => {
    catchUps += 1
    for (const changes of late.splice(0)) there.apply(changes)
  }
  const other = new CachedUsers(there, async () => 'written', {
    isUp: () => true,
    catchUp,
    freshen: () => (hasStoodStill ? catchUp() : undefined),
  })
  const key = createSecretKey(Buffer.from('0123456789abcdef0123456789abcdef'))
  const signing = { id: 'test', alg: 'HS256', sign: key, verify: key, jwk: undefined } as const
  const tokens = openTokens({ keys: { signing, previous: [] }, clock })
  const keysOf = (users: CachedUsers) => createApiKeys({ users, clock, ids: createIds(clock) })
  const authenticate = createAuthenticate({ tokens, clock, users: other, apiKeys: keysOf(other) })
  const standStill = () => {
    hasStoodStill = true
  }
  return { one, standStill, tokens, authenticate, keys: keysOf(one), clock, count: () => catchUps }
}

test('a token that another node revoked while this one was paused is refused', async () => {
  const { one, standStill, tokens, authenticate, clock } = openTwo()
  await one.add(ADA)
  const { token } = await tokens.issueAccess({ userId: ADA.id, at: clock.now() })
  expect(await authenticate(token)).toMatchObject({ kind: 'user' })
  await one.edit(ADA.id, (before) => ({ ...before, tokensValidFrom: Millis(clock.now() + 1) }))
  expect(await authenticate(token)).toMatchObject({ kind: 'user' })
  standStill()
  expect(await authenticate(token)).toMatchObject({ code: 'UNAUTHENTICATED' })
})

test('a new token is valid at another node at once, which catches up only for tokens it does not know', async () => {
  const { one, tokens, authenticate, keys, clock, count } = openTwo()
  await one.add(ADA)
  const { token } = await tokens.issueAccess({ userId: ADA.id, at: clock.now() })
  expect(await authenticate(token)).toMatchObject({ kind: 'user', user: { id: ADA.id } })
  await authenticate(token)
  expect(count()).toBe(1)
  const created = await keys.create({ name: 'ci', role: 'viewer', groups: [], expiresAt: undefined }, ADA.id)
  if (created.kind === 'refused') return expect.fail('no key')
  expect(await authenticate(created.token)).toMatchObject({ kind: 'user', user: { name: 'ci' } })
  expect(await authenticate('flk_nobody')).toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(await authenticate('no token at all')).toMatchObject({ code: 'UNAUTHENTICATED' })
})
