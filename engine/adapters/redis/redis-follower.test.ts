// What a process knows of the writes of others after it stood still, and while Redis is away.
import { execFileSync } from 'node:child_process'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../limits.ts'
import { CutProxy } from '../testing/proxy.ts'
import { Follower } from './redis-follower.ts'
import { REDIS_SERVER, RedisServer, until } from './testing/redis-server.ts'

const STREAM = '{fleet}:words'
/** Writes a word once the process that started it has stood still for long, and the question that it asked before has been
 *  answered: that nothing is new. */
const WRITE_LATER = `
import { Redis } from 'ioredis'
const [url, waitMs] = process.argv.slice(1)
const redis = new Redis(url)
setTimeout(async () => {
  await redis.multi().incr('${STREAM}:seq').xadd('${STREAM}', '1-1', 'word', 'late').exec()
  redis.disconnect()
}, Number(waitMs))`

describe.skipIf(REDIS_SERVER === undefined)('with a redis-server (needs one in the PATH)', () => {
  let server: RedisServer
  let proxy: CutProxy
  let follower: Follower
  let words: string[]
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  beforeEach(async () => {
    await server.run((redis) => redis.flushall())
    proxy = await CutProxy.open(`127.0.0.1:${server.port}`)
    const link = await server.link({ url: server.urlAt(proxy.url) })
    words = []
    follower = new Follower(link, {
      stream: 'words',
      load: async () => {},
      apply: ([, word]) => void words.push(String(word)),
    })
    await follower.start()
  })
  afterEach(async () => {
    proxy.isFrozen = false
    await follower.close()
    proxy.close()
  })
  afterAll(() => server.stop())

  const write = (n: number, word: string) =>
    server.run((redis) => redis.multi().incr(`${STREAM}:seq`).xadd(STREAM, `${n}-1`, 'word', word).exec())

  /** Waits until the follower would catch up, and returns that try. */
  async function silence(): Promise<readonly Promise<void>[]> {
    const tries: Promise<void>[] = []
    await until(() => {
      const tried = follower.freshen()
      if (tried !== undefined) tries.push(tried)
      return tries.length > 0
    }, 'Redis to be silent')
    return tries
  }

  test('a process that has not heard of Redis for a while catches up before it answers', async () => {
    await write(1, 'first')
    await until(() => words.length === 1, 'the first word')
    expect(follower.freshen()).toBeUndefined()
    proxy.isFrozen = true
    proxy.delayMs = 25
    await write(2, 'missed')
    const caughtUp = await silence()
    expect(words).toEqual(['first'])
    proxy.isFrozen = false
    await Promise.all(caughtUp)
    expect(words).toEqual(['first', 'missed'])
    expect(follower.freshen()).toBeUndefined()
  })

  test('while Redis is away it waits for a bounded time, and the next ones do not', async () => {
    proxy.isFrozen = true
    await Promise.all(await silence())
    expect(follower.freshen()).toBeUndefined()
    await write(1, 'missed')
    proxy.isFrozen = false
    await until(() => words.length === 1, 'the word')
  })

  test('an answer that lay there while the process stood still does not count as news', async () => {
    const url = server.urlAt(`127.0.0.1:${server.port}`, 'operator')
    const info = () => server.run((redis) => redis.info('clients'))
    while (!(await info()).includes('blocked_clients:1')) await turn()
    proxy.delayMs = 25
    const waitMs = LIMITS.storeHeardMsMax + LIMITS.storePollMs
    execFileSync(process.execPath, ['--input-type=module', '-e', WRITE_LATER, url, String(waitMs)])
    const goneOnAt = performance.now()
    // Later than this it would be right to give up.
    const isInTime = () => performance.now() - goneOnAt < LIMITS.storeKnownMs / 2
    while (words.length === 0 && isInTime()) {
      expect(follower.freshen()).toBeDefined()
      await turn()
    }
    await until(() => words.length === 1 && follower.freshen() === undefined, 'the word')
  })
})
