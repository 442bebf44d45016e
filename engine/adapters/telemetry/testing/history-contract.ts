// The history part of the contract that every telemetry adapter's test runs. All tests share one instance.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Micros, Millis } from '../../../../schemas/ids.ts'
import { byAge, HISTORY_KINDS, type HistoryKind, type HistoryRow } from '../../../domain/history/row.ts'
import type { Telemetry } from '../../../ports/telemetry.ts'
import { DeviceIdOf, historyBlock } from './telemetry.ts'

/** A time within this hour, because ClickHouse drops old logs by its own clock. */
const AT = Math.floor(Date.now() / 3_600_000) * 3_600_000_000
const ODD = ["'", "it's \\' \\\\ \t\n\r", '{device:String}', '\0', 'é漢字🙂', '\ud800', '/* -- ; */', '']

function row(device: string, n: number, over: Partial<HistoryRow> = {}): HistoryRow {
  const body = { n, level: n % 2 === 0 ? 'info' : 'warn' }
  return { deviceId: DeviceIdOf(device), kind: 'log', at: Micros(AT + n), version: n, body, ...over }
}

export function historyContract({
  name,
  open,
  runs,
}: {
  readonly name: string
  readonly open: () => Promise<Telemetry>
  readonly runs: number
}): void {
  describe(`history: ${name}`, () => {
    let telemetry: Telemetry
    beforeAll(async () => {
      telemetry = await open()
    })
    afterAll(async () => {
      await telemetry.close()
    })
    const all = (device: string, kinds: readonly HistoryKind[] = HISTORY_KINDS) =>
      telemetry.history({ deviceId: DeviceIdOf(device), kinds, limit: 1_000 })

    test('rows of the requested device and kinds are returned unchanged, newest first', async () => {
      const body = {
        deep: { list: [1, 2.5, null, true, { a: ODD }] },
        ...Object.fromEntries(ODD.map((k) => [k, k])),
      }
      const rows = HISTORY_KINDS.map((kind, i) => row('a', i, { kind, body: { ...body, i } }))
      await telemetry.insert(historyBlock([...rows, row('A', 9), row('a2', 9)]))
      expect(await all('a')).toEqual(rows.toReversed())
      expect(await all('a', ['status', 'shadow'])).toEqual([rows[2], rows[0]])
      expect(await all('a', [])).toEqual([])
      expect(await all('nobody')).toEqual([])
      expect(await telemetry.countHistory({ deviceId: DeviceIdOf('a'), kinds: HISTORY_KINDS })).toBe(
        rows.length,
      )
      expect(await telemetry.countHistory({ deviceId: DeviceIdOf('a'), kinds: [] })).toBe(0)
    })

    test('rows that are inserted again, however cut into blocks, are stored once', async () => {
      const rows = Array.from({ length: 60 }, (_, i) => row('b', i))
      const block = historyBlock(rows)
      for (const again of [
        block,
        block,
        historyBlock(rows.slice(20, 50)),
        ...rows.map((r) => historyBlock([r])),
      ])
        await telemetry.insert(again)
      expect(await all('b')).toEqual(rows.toReversed())
      expect(await telemetry.countHistory({ deviceId: DeviceIdOf('b'), kinds: ['log'] })).toBe(60)
      const page = await telemetry.history({
        deviceId: DeviceIdOf('b'),
        kinds: ['log'],
        limit: 10,
        offset: 25,
      })
      expect(page.map(({ version }) => version)).toEqual([34, 33, 32, 31, 30, 29, 28, 27, 26, 25])
    })

    test('rows of the same time differ by version and are ordered by it', async () => {
      const rows = [2 ** 53 - 1, 2 ** 32, 7, 0].map((version) => row('c', 0, { version }))
      await telemetry.insert(historyBlock(rows))
      expect(await all('c')).toEqual(rows)
    })

    test('rows can be filtered by time in milliseconds, level of logs and section of shadows', async () => {
      const logs = [0, 500, 1_000, 1_999, 2_000].map((us, i) =>
        row('d', us, { body: { level: i % 2 ? 'error' : 'info' } }),
      )
      const shadows = ['desired', 'reported'].map((section, i) =>
        row('d', 5_000 + i, { kind: 'shadow', body: { section } }),
      )
      await telemetry.insert(historyBlock([...logs, ...shadows]))
      const filter = {
        deviceId: DeviceIdOf('d'),
        kinds: ['log'],
        from: Millis(AT / 1000 + 1),
        to: Millis(AT / 1000 + 2),
      } as const
      expect(await telemetry.history({ ...filter, limit: 9 })).toEqual([logs[3], logs[2]])
      expect(await telemetry.countHistory(filter)).toBe(2)
      const labelled = { deviceId: DeviceIdOf('d'), kinds: HISTORY_KINDS, labels: ['error', 'desired'] }
      expect(await telemetry.history({ ...labelled, limit: 9 })).toEqual([shadows[0], logs[3], logs[1]])
      expect(await telemetry.countHistory(labelled)).toBe(3)
      expect(await telemetry.history({ ...labelled, limit: 1, offset: 1 })).toEqual([logs[3]])
    })

    test('a place without a kind skips every row of its time and version', async () => {
      const rows = (['status', 'shadow', 'command'] as const).map((kind) => row('e', 1, { kind }))
      await telemetry.insert(historyBlock([...rows, row('e', 0)]))
      const page = (before: { at: Micros; version: number; kind?: HistoryKind }) =>
        telemetry.history({ deviceId: DeviceIdOf('e'), kinds: HISTORY_KINDS, before, limit: 9 })
      const place = { at: Micros(AT + 1), version: 1 }
      expect(await page(place)).toEqual([row('e', 0)])
      expect(await page({ ...place, kind: 'shadow' })).toEqual([rows[2], row('e', 0)])
    })

    test('pages of any size, by place or by number, together are all rows in order', async () => {
      let run = 0
      const KIND = fc.constantFrom(...HISTORY_KINDS)
      const ROWS = fc.array(fc.record({ kind: KIND, at: fc.nat(6), version: fc.nat(4) }), { maxLength: 40 })
      const KINDS = fc.uniqueArray(KIND, { minLength: 1 })
      await fc.assert(
        fc.asyncProperty(
          fc.array(ROWS, { minLength: 1, maxLength: 4 }),
          KINDS,
          fc.integer({ min: 4, max: 20 }),
          async (blocks, kinds, limit) => {
            const device = `p${run++}`
            const inserted = blocks.map((rows) =>
              rows.map(({ kind, at, version }) =>
                row(device, at, { kind, version, body: { kind, at, version } }),
              ),
            )
            for (const rows of inserted) if (rows.length > 0) await telemetry.insert(historyBlock(rows))
            const once = new Map(inserted.flat().map((r) => [`${r.kind} ${r.at} ${r.version}`, r]))
            const want = [...once.values()].filter(({ kind }) => kinds.includes(kind)).sort(byAge)
            const filter = { deviceId: DeviceIdOf(device), kinds }
            const paged: HistoryRow[] = []
            for (;;) {
              const page = await telemetry.history({ ...filter, limit, before: paged.at(-1) })
              paged.push(...page)
              if (page.length < limit) break
            }
            expect(paged).toEqual(want)
            expect(await telemetry.history({ ...filter, limit, offset: limit })).toEqual(
              want.slice(limit, 2 * limit),
            )
            expect(await telemetry.countHistory(filter)).toBe(want.length)
          },
        ),
        { numRuns: runs, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: true },
      )
    })

    test('a malformed block is refused for good', async () => {
      const block = historyBlock([row('f', 1)])
      const broken = {
        ...block,
        bytes: block.bytes.subarray(0, block.bytes.length - 3),
      }
      await expect(telemetry.insert(broken)).rejects.toMatchObject({
        code: 'TELEMETRY_REFUSED',
        retryable: false,
      })
      expect(await all('f')).toEqual([])
    })
  })
}
