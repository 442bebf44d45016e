import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import type { IdempotencyStore } from '../../ports/idempotency.ts'
import type { RedisLink } from '../redis/redis-link.ts'
import { REDIS_SERVER, RedisServer } from '../redis/testing/redis-server.ts'
import { openRedisAnswers } from './redis.ts'
import { answersContract, SMALL_ROOM } from './testing/contract.ts'

const at = Millis
const [A, B] = [
  { id: 'a', owner: 'o' },
  { id: 'b', owner: 'o' },
] as const

describe.skipIf(REDIS_SERVER === undefined)('with a redis-server (needs one in the PATH)', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())

  const opened = new Map<IdempotencyStore, { readonly link: RedisLink; readonly prefix: string }>()
  let count = 0

  async function open(prefix = `p${count++}`): Promise<IdempotencyStore> {
    const link = await server.link({ prefix })
    const answers = openRedisAnswers(link, SMALL_ROOM)
    opened.set(answers, { link, prefix })
    return answers
  }
  const end = (answers: IdempotencyStore) => opened.get(answers)?.link.close()

  answersContract({
    name: 'redis',
    open,
    restart: async (answers) => {
      end(answers)
      return open(opened.get(answers)?.prefix)
    },
    close: async (answers) => end(answers),
  })

  test('if many processes begin the same request, one succeeds', async () => {
    const prefix = `p${count++}`
    const nodes = await Promise.all(Array.from({ length: 4 }, () => open(prefix)))
    const begun = await Promise.all([...nodes, ...nodes].map((answers) => answers.begin(A, at(1))))
    expect(begun.map(({ kind }) => kind).sort()).toEqual(['begun', ...Array(7).fill('running')])
    const sealed = new Uint8Array([0, 255, 7])
    await nodes[0]?.put({ ...A, fingerprint: 'print', keptUntil: at(100), sealed }, at(2))
    for (const answers of nodes)
      expect(await answers.begin(A, at(3))).toMatchObject({
        kind: 'kept',
        answer: { fingerprint: 'print' },
      })
    nodes.map(end)
  })

  test('giving up a request while Redis is unreachable rejects nobody', async () => {
    const away = await RedisServer.start()
    const answers = openRedisAnswers(await away.link())
    const begun = await answers.begin(A, at(1))
    await away.kill()
    await answers.abandon('a', begun.kind === 'begun' ? begun.until : at(0))
    await expect(answers.begin(B, at(1))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await away.stop()
  })
})
