// The contract of every log. Each adapter's test runs it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Micros, Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { Fault } from '../../../ports/fault.ts'
import type { Bundle, Entry, Log, LogReader, Positions } from '../../../ports/log.ts'
import type { Retention } from '../lmdb/commits.ts'

export interface LogContract {
  readonly name: string
  /** Opens a new, empty log. */
  open(retention?: Partial<Retention>): Promise<Log>
  /** Opens the same log as after a crash of the process. */
  restart(log: Log): Promise<Log>
  /** The log trims only in larger pieces than these tests write. */
  readonly trimsLater?: boolean
}

export const NOTHING: Positions = new Array<number>(LIMITS.partitions).fill(0)
const ALL = Array.from({ length: LIMITS.partitions }, (_, p) => Partition(p))

export function bundle(partition: number, text: string): Bundle {
  return { partition: Partition(partition), body: new TextEncoder().encode(text) }
}

/** Entries as `partition=text`, without the empty ones that only move a position on. */
export function show(entries: readonly Entry[] | undefined): readonly string[] {
  return (entries ?? [])
    .filter(({ body }) => body.length > 0)
    .map(({ partition, body }) => `${partition}=${new TextDecoder().decode(body)}`)
}

/** Reads everything until the reader has caught up. */
export async function drain(reader: LogReader, bytesMax = 1e9): Promise<Entry[]> {
  const entries: Entry[] = []
  while (!reader.isCaughtUp()) entries.push(...((await reader.pull(bytesMax)) ?? []))
  return entries
}

/** Reads some entries that are not empty. */
async function pullSome(reader: LogReader, bytesMax = 1e6): Promise<readonly string[]> {
  for (;;) {
    const found = show(await reader.pull(bytesMax))
    if (found.length > 0) return found
  }
}

function upTo(ends: Readonly<Record<number, number | undefined>>): Positions {
  return NOTHING.map((_, p) => ends[p] ?? 0)
}

/** Positions after these entries. */
function positionsOf(entries: readonly Entry[]): Positions {
  const positions = [...NOTHING]
  for (const { partition, seq } of entries) {
    expect(seq).toBeGreaterThan(positions[partition] ?? 0)
    positions[partition] = seq
  }
  return positions
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
      test('an append gives each bundle a seq greater than any before it in its partition', async () => {
        const first = await log.append([bundle(3, 'a'), bundle(7, 'b')], Micros(10))
        const second = await log.append([bundle(7, 'c'), bundle(3, 'd')], Micros(20))
        expect(Math.min(...first)).toBeGreaterThan(0)
        const [d = 0, c = 0] = [second[1], second[0]]
        expect([d > (first[0] ?? 0), c > (first[1] ?? 0)]).toEqual([true, true])
        expect([log.ends()[3], log.ends()[7]]).toEqual([d, c])
        const entries = await drain(log.reader([Partition(3)], NOTHING))
        expect(entries.map(({ seq }) => seq)).toEqual([first[0], d])
      })

      test('an append counts as soon as the end of the log is looked at', async () => {
        const [seq] = await log.append([bundle(3, 'a')], Micros(10))
        expect((await log.readEnds())[3]).toBe(seq)
      })

      test('an append without bundles does nothing', async () => {
        expect(await log.append([], Micros(10))).toEqual([])
        expect(log.ends()).toEqual(NOTHING)
      })

      test('the log remembers the greatest receive time', async () => {
        expect(log.latestAt()).toBe(0)
        await log.append([bundle(1, 'a')], Micros(50))
        await log.append([bundle(1, 'b')], Micros(40))
        expect(log.latestAt()).toBe(50)
      })

      test('an append may be as large as the limit', async () => {
        const count = LIMITS.commitBytesMax / LIMITS.bundleBytesMax + 1
        const body = new Uint8Array(LIMITS.bundleBytesMax).fill(7)
        const bundles = ALL.slice(0, count).map((partition) => ({ partition, body }))
        await log.append(bundles, Micros(1))
        const entries = await drain(log.reader(ALL, NOTHING))
        expect(entries.map((e) => e.body.length)).toEqual(Array(count).fill(LIMITS.bundleBytesMax))
        expect(entries.at(-1)?.body.every((byte) => byte === 7)).toBe(true)
      })
    })

    describe('reader', () => {
      test('a reader reads existing and then new entries in order', async () => {
        await log.append([bundle(1, 'a'), bundle(2, 'b')], Micros(1))
        const reader = log.reader(ALL, NOTHING)
        expect(show(await drain(reader))).toEqual(['1=a', '2=b'])
        expect(reader.isCaughtUp()).toBe(true)
        const next = reader.pull(1e6)
        await log.append([bundle(1, 'c')], Micros(2))
        expect(show(await next)).toEqual(['1=c'])
      })

      test('a reader has caught up with an empty log', async () => {
        const reader = log.reader(ALL, NOTHING)
        expect(await drain(reader)).toEqual([])
        expect(reader.isCaughtUp()).toBe(true)
      })

      test('a reader has not caught up right after an append', async () => {
        const reader = log.reader(ALL, NOTHING)
        await drain(reader)
        await log.append([bundle(1, 'a')], Micros(1))
        expect(reader.isCaughtUp()).toBe(false)
        expect(show(await drain(reader))).toEqual(['1=a'])
      })

      test('a reader starts after its position and reads only its partitions', async () => {
        const seqs: number[] = []
        for (const text of ['a', 'b', 'c'])
          seqs.push(...(await log.append([bundle(1, text), bundle(2, text)], Micros(1))))
        const reader = log.reader([Partition(2)], upTo({ 1: 9, 2: seqs[1] }))
        expect(show(await drain(reader))).toEqual(['2=b', '2=c'])
        const next = pullSome(reader)
        await log.append([bundle(1, 'x')], Micros(2))
        await log.append([bundle(2, 'y')], Micros(3))
        expect(await next).toEqual(['2=y'])
      })

      test('a read returns about the requested bytes, and at least one entry', async () => {
        for (const text of ['aaaa', 'bbbb', 'cccc']) await log.append([bundle(1, text)], Micros(1))
        const slow = log.reader(ALL, NOTHING)
        const seen: (readonly string[])[] = []
        while (seen.flat().length < 3) seen.push(await pullSome(slow, 8))
        expect(seen.every((entries) => entries.length <= 2)).toBe(true)
        expect(seen.flat()).toEqual(['1=aaaa', '1=bbbb', '1=cccc'])
        expect(await pullSome(log.reader(ALL, NOTHING), 1)).toEqual(['1=aaaa'])
      })

      test('a reader misses and repeats nothing during concurrent appends', async () => {
        const reader = log.reader(ALL, NOTHING)
        const seen: Entry[] = []
        const reading = (async () => {
          while (show(seen).length < 600) seen.push(...((await reader.pull(50)) ?? []))
        })()
        for (let i = 0; i < 300; i++)
          await log.append([bundle(i % 5, `${i}`), bundle(5, `${i}${'x'.repeat(i % 40)}`)], Micros(i))
        await reading
        const numbers = (p: number) =>
          show(seen.filter((e) => e.partition === p)).map((t) => parseInt(t.slice(2), 10))
        for (let p = 0; p < 5; p++)
          expect(numbers(p)).toEqual(Array.from({ length: 60 }, (_, i) => 5 * i + p))
        expect(numbers(5)).toEqual(Array.from({ length: 300 }, (_, i) => i))
        expect(positionsOf(seen)).toEqual(log.ends())
      })

      test('a closed reader returns undefined, even if it was waiting', async () => {
        const reader = log.reader(ALL, NOTHING)
        await drain(reader)
        const waiting = reader.pull(10)
        reader.close()
        expect(await waiting).toBeUndefined()
        expect(await reader.pull(10)).toBeUndefined()
      })

      test('closing the log ends its readers', async () => {
        const reader = log.reader(ALL, NOTHING)
        await drain(reader)
        const waiting = reader.pull(10)
        await log.close()
        expect(await waiting).toBeUndefined()
      })
    })

    describe('restart', () => {
      test('a restarted log has all durable entries and continues the seqs', async () => {
        const [seq] = await log.append([bundle(1, 'a'), bundle(2, 'b')], Micros(7))
        await log.append([bundle(1, 'c')], Micros(9))
        log = await restart(log)
        expect(log.latestAt()).toBe(9)
        expect(show(await drain(log.reader(ALL, upTo({ 1: seq }))))).toEqual(['2=b', '1=c'])
        const end = log.ends()[1] ?? 0
        const [next = 0] = await log.append([bundle(1, 'd')], Micros(10))
        expect(next).toBeGreaterThan(end)
      })

      test('a reader reaches the ends after a restart, even of partitions without entries', async () => {
        await log.append([bundle(1, 'a'), bundle(2, 'b')], Micros(7))
        const [seq = 0] = await log.append([bundle(1, 'c')], Micros(9))
        log = await restart(log)
        const ends = log.ends()
        expect(ends[1]).toBe(seq)
        expect(positionsOf(await drain(log.reader(ALL, NOTHING)))).toEqual(ends)
      })

      test('a restarted log remembers ends and time although all old entries are trimmed', async () => {
        await log.close()
        log = await open({ retentionMs: 0 })
        for (let i = 1; i <= 20; i++) await log.append([bundle(i % 3, `${i}`)], Micros(i * 1e6))
        await log.trim(log.ends())
        const before = log.ends()
        log = await restart(log)
        expect(log.ends().every((end, p) => end >= (before[p] ?? 0))).toBe(true)
        expect(log.latestAt()).toBe(20e6)
      })
    })

    test('its size grows with what is appended, and tells when the oldest entry was received', async () => {
      expect((await log.size()).oldestAt).toBeUndefined()
      await log.append([bundle(1, 'a')], Micros(10))
      const { bytes, oldestAt } = await log.size()
      expect(oldestAt).toBe(10)
      await log.append([bundle(2, 'b'.repeat(10_000))], Micros(20))
      const later = await log.size()
      expect(later.oldestAt).toBe(10)
      expect(later.bytes).toBeGreaterThanOrEqual(bytes + 10_000)
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
    const kept = async (log: Log, p: number) => show(await drain(log.reader([Partition(p)], NOTHING)))

    test('a trim removes settled entries older than the retention, oldest first', async () => {
      const log = await reopen({ retentionMs: 5_000 })
      const seqs: number[] = []
      for (let i = 1; i <= 10; i++)
        seqs.push(...(await log.append([bundle(1, `${i}`), bundle(2, 'x')], Micros(i * 1e6))))
      await log.trim(upTo({ 1: seqs[4], 2: seqs[15] }))
      expect((await kept(log, 1))[0]).toBe('1=4')
      await log.trim(log.ends())
      expect((await kept(log, 1))[0]).toBe('1=5')
    })

    test('a trim keeps young entries', async () => {
      const log = await reopen({ retentionMs: 1_000 })
      for (let i = 1; i <= 10; i++) await log.append([bundle(1, `${i}`)], Micros(i))
      await log.trim(log.ends())
      expect(await kept(log, 1)).toHaveLength(10)
    })

    test('a trim keeps unsettled entries, however old', async () => {
      const log = await reopen({ retentionMs: 1_000 })
      await log.append([bundle(1, 'a')], Micros(1))
      await log.append([bundle(1, 'b'), bundle(2, 'c')], Micros(2))
      await log.append([bundle(1, 'd')], Micros(1e9))
      await log.trim(upTo({ 1: log.ends()[1] }))
      expect(await kept(log, 2)).toEqual(['2=c'])
      await log.trim(log.ends())
      expect(await kept(log, 1)).toEqual(['1=d'])
    })

    test('a trim removes settled entries early if the log is too large', async () => {
      const log = await reopen({ bytesMax: 1_000_000 })
      const body = new Uint8Array(90_000).fill(32)
      for (let i = 0; i < 40; i++) {
        await log.append([{ partition: Partition(1), body }], Micros(i))
        await log.trim(log.ends())
      }
      const entries = await drain(log.reader([Partition(1)], NOTHING))
      expect(entries.length).toBeLessThan(12)
      expect(entries.length).toBeGreaterThan(5)
      expect(entries.at(-1)?.seq).toBe(log.ends()[1])
    })

    test('a log full of unsettled entries refuses more without using up seqs, and recovers', async () => {
      const log = await reopen({ bytesMax: 200_000 })
      const big = [{ partition: Partition(1), body: new Uint8Array(60_000).fill(32) }]
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
      const [next = 0] = await log.append(big, Micros(3))
      expect(next).toBeGreaterThan(seq)
      expect(await kept(log, 1)).not.toHaveLength(0)
    })

    test('a reader behind the trimmed part continues with the oldest stored entry', async () => {
      const log = await reopen({ retentionMs: 0 })
      for (let i = 1; i <= 3; i++) await log.append([bundle(1, `${i}`)], Micros(i * 1e6))
      const reader = log.reader(ALL, NOTHING)
      await log.trim(log.ends())
      expect(show(await drain(reader)).at(-1)).toBe('1=3')
    })
  })
}
