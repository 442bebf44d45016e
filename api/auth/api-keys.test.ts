import { expect, test } from 'vitest'
import { CachedUsers } from '../../engine/adapters/users/cached-users.ts'
import { Directory } from '../../engine/adapters/users/directory.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { UserId } from '../../schemas/ids.ts'
import { createIds } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import { createApiKeys } from './api-keys.ts'

async function openKey() {
  const clock = new StandingTime(1_760_000_000_000)
  const directory = new Directory()
  const store = { writes: 0, answers: Promise.resolve() }
  const users = new CachedUsers(directory, async (changes) => {
    store.writes++
    await store.answers
    directory.apply(changes)
    return 'written'
  })
  const keys = createApiKeys({ users, clock, ids: createIds(clock) })
  const about = { name: 'CI', role: 'viewer', groups: [], expiresAt: undefined } as const
  const created = await keys.create(about, UserId('usr_ada'))
  if (created.kind === 'refused') return expect.fail(created.code)
  store.writes = 0
  /** The number of writes, and the time of the last use that was noted. */
  const noted = async () => {
    // Steps take turns, so this one comes after all others.
    await users.removeKey(UserId('key_none'))
    return [store.writes, users.getKey(created.key.id)?.lastUsedAt]
  }
  return { clock, store, noted, use: () => keys.find(created.token) }
}

test('while the store does not answer, uses of a key do not pile up, and one is noted afterwards', async () => {
  const { clock, store, noted, use } = await openKey()
  let answer = () => {}
  store.answers = new Promise((resolve) => (answer = resolve))
  for (let i = 0; i < 100; i++) expect(use()).toBeDefined()
  answer()
  expect(await noted()).toEqual([1, clock.now()])
  clock.at += API_LIMITS.apiKeyTouchMs
  use()
  expect(await noted()).toEqual([2, clock.now()])
})

test('after the clock was set back, the last use of a key does not stay in the future', async () => {
  const { clock, noted, use } = await openKey()
  use()
  await noted()
  clock.at -= 86_400_000
  for (let i = 0; i < 10; i++) use()
  expect(await noted()).toEqual([2, clock.now()])
})
