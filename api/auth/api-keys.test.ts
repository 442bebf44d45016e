import { expect, test } from 'vitest'
import { CachedUsers } from '../../engine/adapters/users/cached-users.ts'
import { Directory } from '../../engine/adapters/users/directory.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { UserId } from '../../schemas/ids.ts'
import { createIds } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import { createApiKeys } from './api-keys.ts'

test('while the store does not answer, uses of a key do not pile up, and one is noted afterwards', async () => {
  const clock = new StandingTime(1_760_000_000_000)
  const directory = new Directory()
  let writes = 0
  let answers = Promise.resolve()
  const users = new CachedUsers(directory, async (changes) => {
    writes++
    await answers
    directory.apply(changes)
    return 'written'
  })
  const keys = createApiKeys({ users, clock, ids: createIds(clock) })
  const about = { name: 'CI', role: 'viewer', groups: [], expiresAt: undefined } as const
  const created = await keys.create(about, UserId('usr_ada'))
  if (created.kind === 'refused') return expect.fail(created.code)
  writes = 0
  let answer = () => {}
  answers = new Promise((resolve) => (answer = resolve))
  for (let i = 0; i < 100; i++) expect(keys.find(created.token)).toBeDefined()
  answer()
  // Steps take turns, so this one comes after all others.
  await users.removeKey(UserId('key_none'))
  expect([writes, users.getKey(created.key.id)?.lastUsedAt]).toEqual([1, clock.now()])
  clock.at += API_LIMITS.apiKeyTouchMs
  keys.find(created.token)
  await users.removeKey(UserId('key_none'))
  expect([writes, users.getKey(created.key.id)?.lastUsedAt]).toEqual([2, clock.now()])
})
