// What every log promises; each adapter's test runs it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Micros, Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Fault } from '../../ports/fault.ts'
import type { Bundle, Entry, Log, LogReader, Positions } from '../../ports/log.ts'
import type { Retention } from './commits.ts'

export interface LogContract {
  readonly name: string
  /** A new, empty log. */
  open(retention?: Partial<Retention>): Promise<Log>
  /** The same log after the process ended without closing it. */
  restart(log: Log): Promise<Log>
  /** It trims only in larger pieces than these tests write. */
  readonly trimsLater?: boolean
}

export const NOTHING: Positions = new Array<number>(LIMITS.partitions).fill(0)
const ALL = Array.from({ length: LIMITS.partitions }, (_, p) => Partition(p))

export function bundle(partition: number, text: string): Bundle {
  return { partition: Partition(partition), body: new TextEncoder().encode(text) }
}

export function show(entries: readonly Entry[] | undefined): readonly string[] {
  return (entries ?? []).map((e) => `${e.partition}:${e.seq}=${new TextDecoder().decode(e.body)}`)
}

/** Everything the reader finds before it has caught up. */
export async function drain(reader: LogReader, bytesMax = 1e9): Promise<Entry[]> {
  const entries: Entry[] = []
  while (!reader.isCaughtUp()) entries.push(...((await reader.pull(bytesMax)) ?? []))
  return entries
}

function upTo(ends: Readonly<Record<number, number>>): Positions {
  return NOTHING.map((_, p) => ends[p] ?? 0)
}

export function logContract({ name, open, restart, trimsLater }: LogContract): void {
  describe(`log: ${name}`, () => {
    let log: Log

    beforeEach(async () => {
      log = await open()
    })
    afterEach(async () => {
      await log.close()
    })

    describe('append', () => {
      test('gives each bundle the next seq of its partition, counted from 1', async () => {
        const first = await log.append([bundle(3, 'a'), bundle(7, 'b'), bundle(3, 'c')], Micros(10))
        const second = await log.append([bundle(7, 'd'), bundle(3, 'e')], Micros(20))
        expect(first).toEqual([1, 1, 2])
        expect(second).toEqual([2, 3])
        expect(log.ends()).toEqual(upTo({ 3: 3, 7: 2 }))
      })

      test('of nothing does nothing', async () => {
        expect(await log.append([], Micros(10))).toEqual([])
        expect(log.ends()).toEqual(NOTHING)
      })

      test('keeps the greatest receive time', async () => {
        expect(log.latestAt()).toBe(0)
        await log.append([bundle(1, 'a')], Micros(50))
        await log.append([bundle(1, 'b')], Micros(40))
        expect(log.latestAt()).toBe(50)
      })

      test('takes an empty body and a body of the greatest size', async () => {
        const body = new Uint8Array(LIMITS.bundleBytesMax).fill(7)
        await log.append([bundle(0, ''), { partition: Partition(0), body }], Micros(1))
        const entries = await drain(log.reader(ALL, NOTHING))
        expect(entries.map((e) => e.body.length)).toEqual([0, LIMITS.bundleBytesMax])
        expect(entries[1]?.body.every((byte) => byte === 7)).toBe(true)
      })
    })

    describe('reader', () => {
      test('reads what was there before, then what comes, in order', async () => {
        await log.append([bundle(1, 'a'), bundle(2, 'b')], Micros(1))
        const reader = log.reader(ALL, NOTHING)
        expect(show(await reader.pull(1e6))).toEqual(['1:1=a', '2:1=b'])
        expect(reader.isCaughtUp()).toBe(true)
        const next = reader.pull(1e6)
        await log.append([bundle(1, 'c')], Micros(2))
        expect(show(await next)).toEqual(['1:2=c'])
      })

      test('sees its own partitions only, after the positions given', async () => {
        for (const text of ['a', 'b', 'c']) await log.append([bundle(1, text), bundle(2, text)], Micros(1))
        const reader = log.reader([Partition(2)], upTo({ 1: 9, 2: 1 }))
        expect(show(await drain(reader))).toEqual(['2:2=b', '2:3=c'])
        const next = reader.pull(1e6)
        await log.append([bundle(1, 'x')], Micros(2))
        await log.append([bundle(2, 'y')], Micros(3))
        expect(show(await next)).toEqual(['2:4=y'])
      })

      test('hands out at most about the bytes asked for, and at least one entry', async () => {
        await log.append([bundle(1, 'aaaa'), bundle(1, 'bbbb'), bundle(1, 'cccc')], Micros(1))
        const reader = log.reader(ALL, NOTHING)
        expect(show(await reader.pull(8))).toEqual(['1:1=aaaa', '1:2=bbbb'])
        expect(reader.isCaughtUp()).toBe(false)
        expect(show(await reader.pull(1))).toEqual(['1:3=cccc'])
      })

      test('misses and repeats nothing while entries are appended around it', async () => {
        const reader = log.reader(ALL, NOTHING)
        const seen: Entry[] = []
        const reading = (async () => {
          while (seen.length < 600) seen.push(...((await reader.pull(50)) ?? []))
        })()
        for (let i = 0; i < 300; i++) {
          await log.append([bundle(i % 5, `${i}`), bundle(5, 'x'.repeat(i % 40))], Micros(i))
        }
        await reading
        expect(seen).toHaveLength(600)
        const next = [...NOTHING]
        for (const { partition, seq } of seen) {
          expect(seq).toBe((next[partition] ?? 0) + 1)
          next[partition] = seq
        }
        expect(next).toEqual(log.ends())
      })

      test('ends with undefined once closed, even while it waits', async () => {
        const reader = log.reader(ALL, NOTHING)
        const waiting = reader.pull(10)
        reader.close()
        expect(await waiting).toBeUndefined()
        expect(await reader.pull(10)).toBeUndefined()
      })

      test('is released when the log closes', async () => {
        const waiting = log.reader(ALL, NOTHING).pull(10)
        await log.close()
        expect(await waiting).toBeUndefined()
      })
    })

    describe('restart', () => {
      test('finds everything that was durable, and goes on counting', async () => {
        await log.append([bundle(1, 'a'), bundle(2, 'b')], Micros(7))
        await log.append([bundle(1, 'c')], Micros(9))
        log = await restart(log)
        expect(log.ends()).toEqual(upTo({ 1: 2, 2: 1 }))
        expect(log.latestAt()).toBe(9)
        expect(show(await drain(log.reader(ALL, upTo({ 1: 1 }))))).toEqual(['2:1=b', '1:2=c'])
        expect(await log.append([bundle(1, 'd')], Micros(10))).toEqual([3])
      })

      test('remembers ends and time though everything old is trimmed', async () => {
        await log.close()
        log = await open({ retentionMs: 0 })
        for (let i = 1; i <= 20; i++) await log.append([bundle(i % 3, `${i}`)], Micros(i * 1e6))
        await log.trim(log.ends())
        const before = log.ends()
        log = await restart(log)
        expect(log.ends()).toEqual(before)
        expect(log.latestAt()).toBe(20e6)
      })
    })

    if (!trimsLater)
      trimContract(open, (opened) => {
        log = opened
      })
  })
}

function trimContract(open: LogContract['open'], use: (log: Log) => void): void {
  describe('trim', () => {
    const reopen = async (retention: Partial<Retention>): Promise<Log> => {
      const log = await open(retention)
      use(log)
      return log
    }

    test('removes what is settled and older than the retention, oldest first', async () => {
      const log = await reopen({ retentionMs: 5_000 })
      for (let i = 1; i <= 10; i++) await log.append([bundle(1, `${i}`), bundle(2, 'x')], Micros(i * 1e6))
      await log.trim(upTo({ 1: 3, 2: 8 }))
      expect(show(await drain(log.reader([Partition(1)], NOTHING)))[0]).toBe('1:4=4')
      await log.trim(log.ends())
      expect(show(await drain(log.reader([Partition(1)], NOTHING)))[0]).toBe('1:5=5')
    })

    test('keeps what is young', async () => {
      const log = await reopen({ retentionMs: 1_000 })
      for (let i = 1; i <= 10; i++) await log.append([bundle(1, `${i}`)], Micros(i))
      await log.trim(log.ends())
      expect(await drain(log.reader(ALL, NOTHING))).toHaveLength(10)
    })

    test('keeps what is not settled however old', async () => {
      const log = await reopen({ retentionMs: 1_000 })
      await log.append([bundle(1, 'a')], Micros(1))
      await log.append([bundle(1, 'b'), bundle(2, 'c')], Micros(2))
      await log.append([bundle(1, 'd')], Micros(1e9))
      await log.trim(upTo({ 1: 3 }))
      expect(show(await drain(log.reader(ALL, NOTHING)))[0]).toBe('1:2=b')
    })

    test('removes settled entries before their time when the log is too big', async () => {
      const log = await reopen({ bytesMax: 1_000_000 })
      const body = new Uint8Array(90_000)
      for (let i = 0; i < 40; i++) {
        await log.append([{ partition: Partition(1), body }], Micros(i))
        await log.trim(log.ends())
      }
      const kept = await drain(log.reader(ALL, NOTHING))
      expect(kept.length).toBeLessThan(12)
      expect(kept.length).toBeGreaterThan(5)
      expect(kept.at(-1)?.seq).toBe(40)
    })

    test('a log full of unsettled entries refuses more, uses up no seq, and recovers', async () => {
      const log = await reopen({ bytesMax: 200_000 })
      const big = [{ partition: Partition(1), body: new Uint8Array(60_000) }]
      let seq = 0
      const fill = async () => {
        for (;;) [seq = 0] = await log.append(big, Micros(1))
      }
      const full: Partial<Fault> = { code: 'LOG_FULL', retryable: true }
      await expect(fill()).rejects.toMatchObject(full)
      expect(seq).toBeGreaterThan(1)
      await expect(log.append(big, Micros(2))).rejects.toMatchObject(full)
      expect(log.ends()[1]).toBe(seq)
      await log.trim(log.ends())
      expect(await log.append(big, Micros(3))).toEqual([seq + 1])
    })

    test('a reader that stands before the trimmed part goes on with the oldest entry kept', async () => {
      const log = await reopen({ retentionMs: 0 })
      for (let i = 1; i <= 3; i++) await log.append([bundle(1, `${i}`)], Micros(i * 1e6))
      const reader = log.reader(ALL, NOTHING)
      await log.trim(log.ends())
      const entries = show(await drain(reader))
      expect(entries.at(-1)).toBe('1:3=3')
    })
  })
}
