// What the log does when NATS has lost or got back what it had stored.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Micros, Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { Fault } from '../../../ports/fault.ts'
import { NATS_SERVER, NatsServer } from '../../nats/testing/nats-server.ts'
import { bundle, drain, NOTHING, show } from '../testing/contract.ts'
import { JetStreamBench, readTexts, until } from '../testing/jetstream.ts'

const P1 = Partition(1)

describe.skipIf(NATS_SERVER === undefined)('with a nats-server (needs one that `npm test` finds)', () => {
  const bench = new JetStreamBench()
  let server: NatsServer
  const losses: Fault[] = []
  const lost = (fault: Fault) => void losses.push(fault)

  beforeEach(async () => {
    server = await NatsServer.start()
    losses.length = 0
  })
  afterEach(async () => {
    await bench.clear()
    await server.remove()
  })

  test('a stream that went back acknowledges nothing under a number that was given out before', async () => {
    const log = await bench.open(await bench.link(server.url), { lost })
    for (let n = 1; n <= 5; n++) await log.append([bundle(1, `${n}`)], Micros(n))
    await server.keepCopy()
    const append = async (text: string) => {
      for (;;) {
        const fault = await log.append([bundle(1, text)], Micros(9)).then(
          () => undefined,
          (error: Fault) => error,
        )
        if (fault?.retryable !== true) return fault
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    for (let n = 6; n <= 15; n++) expect(await append(`${n}`)).toBeUndefined()
    await server.putBack('copy')
    const refused = await append('x')
    expect(refused).toMatchObject({ code: 'LOG_UNAVAILABLE', retryable: false })
    expect(refused?.message).toMatch(/has gone back from message 15 to 6: NATS lost what it had acknowledged/)
    expect(losses.length).toBeGreaterThan(0)
  })

  test('a process that only reads notices that the stream went back', async () => {
    const name = bench.newName()
    const writer = await bench.open(await bench.link(server.url), { name })
    for (let n = 1; n <= 5; n++) await writer.append([bundle(1, `${n}`)], Micros(n))
    await server.keepCopy()
    const reading = await bench.open(await bench.link(server.url), { name, lost })
    const reader = reading.reader([P1], NOTHING)
    const again = await bench.open(await bench.link(server.url), { name })
    for (let n = 6; n <= 15; n++) await again.append([bundle(1, `${n}`)], Micros(n))
    expect(await readTexts(reader, 15)).toHaveLength(15)
    await server.putBack('copy')
    await until(() => losses.length > 0)
    expect(losses[0]?.message).toMatch(/has gone back from message 15 to 5/)
  })

  test('a process that reads notices that NATS came back empty', async () => {
    const name = bench.newName()
    const log = await bench.open(await bench.link(server.url), { name, lost })
    log.reader([P1], NOTHING)
    await server.putBack('nothing')
    await until(() => losses.length > 0)
    expect(losses[0]?.message).toMatch(/is gone: NATS lost what it had acknowledged/)
    await bench.open(await bench.link(server.url), { name })
  })

  test('what an earlier life had settled stays for a store that was put back', async () => {
    const name = bench.newName()
    const before = await bench.open(await bench.link(server.url), { name })
    for (let n = 1; n <= 20; n++) await before.append([bundle(1, `${n}`)], Micros(n * 1e6))
    // All of it is too young to go.
    await before.trim(NOTHING.map(() => 20))
    await before.close()
    const after = await bench.open(await bench.link(server.url), { name, retentionMs: 0 })
    await after.append([bundle(1, '21')], Micros(21e6))
    await after.trim(NOTHING)
    expect(show(await drain(after.reader([P1], NOTHING)))).toEqual(
      Array.from({ length: 21 }, (_, n) => `1=${n + 1}`),
    )
  })

  test('a reader says that messages which it was to read are gone', async () => {
    const link = await bench.link(server.url)
    const name = bench.newName()
    const gone: unknown[] = []
    const first = 3 * LIMITS.logMarkEvery
    const notBefore = NOTHING.map((_, p) => (p === 1 ? first - 1 : 0))
    const log = await bench.open(link, {
      name,
      notBefore,
      warn: (message, about) => gone.push(message, about),
    })
    await log.append([bundle(1, 'a')], Micros(1))
    const settled = log.reader([P1], notBefore)
    expect(show(await drain(settled))).toEqual(['1=a'])
    expect(gone).toEqual([])
    expect(show(await drain(log.reader([P1], NOTHING)))).toEqual(['1=a'])
    await until(() => gone.length > 0)
    expect(gone).toEqual([
      expect.stringContaining('no longer has messages'),
      { stream: `${name}-log`, from: 1, to: first - 1 },
    ])
  })
})
