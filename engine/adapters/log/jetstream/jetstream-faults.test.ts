// Faults of servers and networks.
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Micros, Partition } from '../../../../schemas/ids.ts'
import type { NatsLink } from '../../nats/nats-link.ts'
import { NATS_SERVER, NatsServer } from '../../nats/testing/nats-server.ts'
import { CutProxy } from '../../testing/proxy.ts'
import { bundle, drain, NOTHING, show } from '../testing/contract.ts'
import { follow, JetStreamBench, load, numbers, readTexts, until } from '../testing/jetstream.ts'

const P1 = Partition(1)

describe.skipIf(NATS_SERVER === undefined)('faults (need a nats-server that `npm test` finds)', () => {
  const bench = new JetStreamBench()
  let server: NatsServer

  beforeAll(async () => {
    server = await NatsServer.start()
  })
  afterEach(() => bench.clear())
  afterAll(() => server.remove())

  test('a server that is killed repeatedly loses and repeats nothing, and readers continue', async () => {
    const log = await bench.open(await bench.link(server.url))
    const reader = log.reader([P1], NOTHING)
    const { seen, done } = follow(reader)
    const loaded = load(log)
    for (let kills = 1; kills <= 5; kills++) {
      const before = loaded.acknowledged.length
      await until(() => loaded.acknowledged.length >= before + 20)
      await server.kill()
      await server.restart()
    }
    await loaded.stop()
    const count = loaded.acknowledged.length
    await until(() => seen.length >= count)
    expect(seen).toEqual(numbers(1, count))
    reader.close()
    await done
    expect(show(await drain(log.reader([Partition(2)], NOTHING)))).toEqual(numbers(2, count))
  })

  test('while a server is frozen an append waits and is stored once, and no reader claims to have caught up', async () => {
    const link = await bench.link(server.url)
    const log = await bench.open(link)
    const reader = log.reader([P1], NOTHING)
    await log.append([bundle(1, 'before')], Micros(1))
    expect(await readTexts(reader, 1)).toEqual(['1=before'])
    await until(() => reader.isCaughtUp())
    onTestFinished(() => server.resume())
    server.pause()
    // Its threads stop one after the other.
    await expect.poll(() => isAnswering(link)).toBe(false)
    let isSettled = false
    const appended = log.append([bundle(1, 'during')], Micros(2)).finally(() => {
      isSettled = true
    })
    await until(() => !reader.isCaughtUp() && !link.isConnected)
    expect(isSettled).toBe(false)
    server.resume()
    await appended
    await log.append([bundle(1, 'after')], Micros(3))
    expect(await readTexts(reader, 2)).toEqual(['1=during', '1=after'])
    await until(() => reader.isCaughtUp())
  })

  test('without a connection an append is refused at once', async () => {
    const proxy = await CutProxy.open(server.url)
    const link = await bench.link(proxy.url)
    const log = await bench.open(link)
    proxy.isClosed = true
    proxy.cut()
    await until(() => !link.isConnected)
    await expect(log.append([bundle(1, 'a')], Micros(1))).rejects.toMatchObject({
      code: 'LOG_UNAVAILABLE',
      retryable: true,
    })
    proxy.isClosed = false
    await until(() => link.isConnected)
    await log.append([bundle(1, 'b')], Micros(2))
    expect(show(await drain(log.reader([P1], NOTHING)))).toEqual(['1=b'])
    proxy.close()
  })

  test.each([
    ['at once', 600_000],
    ['after the stream has forgotten its id', 100],
  ])(
    'an append whose answer is lost is stored once, when it is sent again %s',
    async (_, duplicateWindowMs) => {
      const proxy = await CutProxy.open(server.url)
      const link = await bench.link(proxy.url)
      const name = bench.newName()
      const log = await bench.open(link, { name, duplicateWindowMs })
      const other = await bench.open(await bench.link(server.url), { name, duplicateWindowMs })
      await log.append([bundle(1, 'a')], Micros(1))
      proxy.isDeaf = true
      const appended = log.append([bundle(1, 'b')], Micros(2))
      expect(await readTexts(other.reader([P1], NOTHING), 2)).toEqual(['1=a', '1=b'])
      await other.append([bundle(1, 'c')], Micros(3))
      proxy.isClosed = true
      proxy.cut()
      await until(() => !link.isConnected)
      const since = performance.now()
      await until(() => performance.now() - since > 4 * Math.min(duplicateWindowMs, 100))
      proxy.isDeaf = false
      proxy.isClosed = false
      expect(await appended).toEqual([2])
      expect(await log.append([bundle(1, 'd')], Micros(4))).toEqual([4])
      expect(show(await drain(other.reader([P1], NOTHING)))).toEqual(['1=a', '1=b', '1=c', '1=d'])
      proxy.close()
    },
  )
})

function isAnswering({ connection }: NatsLink): Promise<boolean> {
  const answered = connection.rtt().then(
    () => true,
    () => false,
  )
  return Promise.race([answered, wait(100, false)])
}
