// The audit part of the contract that every telemetry adapter's test runs. All tests share one instance.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Micros, Millis } from '../../../../schemas/ids.ts'
import { type AuditEntry, auditRow } from '../../../domain/audit/entry.ts'
import { byAge } from '../../../domain/history/row.ts'
import type { AuditFilter } from '../../../ports/audit.ts'
import type { Telemetry } from '../../../ports/telemetry.ts'
import { auditBlock, DeviceIdOf } from './telemetry.ts'

/** A time within this hour, because ClickHouse drops old rows by its own clock. */
const AT = Math.floor(Date.now() / 3_600_000) * 3_600_000
const ODD = `it's \\' \\\\ \t\n\r{actor:String}\0é漢字🙂 /* -- ; */`
const USER = { type: 'user', id: 'usr_a', name: 'a@example.com' } as const

export function auditContract({
  name,
  open,
  runs,
}: {
  readonly name: string
  readonly open: () => Promise<Telemetry>
  readonly runs: number
}): void {
  describe(`audit: ${name}`, () => {
    let telemetry: Telemetry
    let numbers = 1_000
    beforeAll(async () => {
      telemetry = await open()
    })
    afterAll(async () => {
      await telemetry.close()
    })

    function row(about: Partial<AuditEntry>, ms = 0) {
      const entry = { actor: USER, action: 'editDevice', outcome: 'success', ...about } as const
      return auditRow(entry, { at: Millis(AT + ms), number: numbers++, count: 1 })
    }
    const shown = ({ at, version, body }: ReturnType<typeof row>) => ({ at, version, body: JSON.parse(body) })

    test('entries are returned unchanged, newest first, and by number at the same time', async () => {
      const rows = [
        row({ action: 'whole', detail: { [ODD]: [ODD, 1, null] } }, 1),
        row({ action: 'whole', actor: { type: 'anonymous' } }, 2),
        row({ action: 'whole', deviceId: DeviceIdOf('audited') }, 2),
      ]
      await telemetry.insert(auditBlock(rows))
      expect(await telemetry.audit({ action: 'whole', limit: 9 })).toEqual(rows.map(shown).toReversed())
      expect(await telemetry.audit({ action: 'whole', limit: 1 })).toEqual(rows.slice(2).map(shown))
      expect(await telemetry.history({ deviceId: DeviceIdOf('audited'), kinds: ['log'], limit: 9 })).toEqual(
        [],
      )
    })

    test('entries that are inserted again, however cut into blocks, are stored once', async () => {
      const rows = Array.from({ length: 40 }, (_, i) => row({ action: 'again' }, i))
      const block = auditBlock(rows)
      for (const again of [block, block, auditBlock(rows.slice(5, 30)), ...rows.map((r) => auditBlock([r]))])
        await telemetry.insert(again)
      const want = rows.map(shown).toReversed()
      expect(await telemetry.audit({ action: 'again', limit: 99 })).toEqual(want)
      expect(await telemetry.audit({ action: 'again', limit: 9, offset: 33 })).toEqual(want.slice(33))
      expect(await telemetry.countAudit({ action: 'again' })).toBe(40)
      expect(await telemetry.countAudit({ action: 'again', from: Millis(AT + 39) })).toBe(1)
    })

    test('every filter finds the entries that it names and no others, whatever its text', async () => {
      const action = 'filters'
      const given: readonly Partial<AuditEntry>[] = [
        { target: 'devices/d', deviceId: DeviceIdOf('f1'), ip: '10.0.0.1' },
        { target: ODD, ip: ODD, actor: { type: 'user', id: ODD } },
        { outcome: 'refused', code: 'FORBIDDEN', actor: { type: 'anonymous', name: ODD } },
        { actor: { type: 'user', id: 'usr_b', name: 'usr_a' } },
      ]
      const rows = given.map((about, i) => row({ action, ...about }, i))
      await telemetry.insert(auditBlock(rows))
      const find = async (filter: AuditFilter) => {
        const found = await telemetry.audit({ action, ...filter, limit: 9 })
        return found.map(({ version }) => rows.findIndex((each) => each.version === version)).reverse()
      }
      expect(await find({})).toEqual([0, 1, 2, 3])
      expect(await find({ actor: 'usr_a' })).toEqual([0, 3])
      expect(await find({ actor: ODD })).toEqual([1, 2])
      expect(await find({ target: 'devices/d' })).toEqual([0])
      expect(await find({ target: ODD })).toEqual([1])
      expect(await find({ deviceId: 'f1' })).toEqual([0])
      expect(await find({ outcome: 'refused' })).toEqual([2])
      expect(await find({ ip: '10.0.0.1' })).toEqual([0])
      expect(await find({ ip: ODD })).toEqual([1])
      expect(await find({ ip: '10.0.0.1', outcome: 'refused' })).toEqual([])
      expect(await find({ from: Millis(AT + 1), to: Millis(AT + 3) })).toEqual([1, 2])
      expect(await find({ action: "' OR 1 = 1 --" })).toEqual([])
    })

    test('pages of any size together are all entries in order', async () => {
      let run = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.nat(5), { maxLength: 30 }),
          fc.integer({ min: 1, max: 9 }),
          async (times, limit) => {
            const action = `pages${run++}`
            const rows = times.map((ms) => row({ action }, ms))
            if (rows.length > 0) await telemetry.insert(auditBlock(rows))
            const want = rows.toSorted(byAge).map(shown)
            const paged: { at: Micros; version: number; body: unknown }[] = []
            for (;;) {
              const page = await telemetry.audit({ action, limit, before: paged.at(-1) })
              paged.push(...page)
              if (page.length < limit) break
            }
            expect(paged).toEqual(want)
          },
        ),
        { numRuns: runs, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: true },
      )
    })
  })
}
