// The part of the contract about alerts that are resolved. All tests share one instance, and each has ids of its own.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AlertId, type DeviceId, Micros, Millis, RuleId, toIso } from '../../../../schemas/ids.ts'
import { ALERT_SEVERITIES } from '../../../../schemas/vocabulary.ts'
import type { AlertSort } from '../../../domain/alert/query.ts'
import type { HistoryRow, PastAlertsQuery } from '../../../ports/history.ts'
import type { Telemetry } from '../../../ports/telemetry.ts'
import { pastAlerts } from './memory-past-alerts.ts'
import { DeviceIdOf, historyBlock } from './telemetry.ts'

const NOW = Math.floor(Date.now() / 3_600_000) * 3_600_000
const GROUPS = [null, 'eu', 'eu/north', 'europe', "o'us"]
const DEVICES = ['a', 'b', 'c']

const ALERT = fc.record({
  device: fc.constantFrom(...DEVICES),
  group: fc.constantFrom(...GROUPS),
  severity: fc.constantFrom(...ALERT_SEVERITIES),
  rule: fc.constantFrom('rul_1', 'rul_2'),
  type: fc.constantFrom('threshold', 'absence'),
  fired: fc.integer({ min: 0, max: 50 }),
  lasted: fc.integer({ min: 1, max: 20 }),
  acknowledged: fc.boolean(),
  flapping: fc.boolean(),
  snoozed: fc.boolean(),
  valueAt: fc.option(fc.nat(50)),
  isResolved: fc.integer({ min: 0, max: 4 }).map((roll) => roll > 0),
  /** Somebody had a word afterwards. */
  commented: fc.boolean(),
})
type GeneratedAlert = typeof ALERT extends fc.Arbitrary<infer T> ? T : never

const moment = (minutes: number) => Millis(NOW - 7_200_000 + minutes * 60_000)

const QUERY: fc.Arbitrary<Partial<PastAlertsQuery>> = fc.record(
  {
    deviceId: fc.constantFrom(...DEVICES).map(DeviceIdOf),
    deviceIds: fc.subarray(DEVICES).map((ids) => ids.map(DeviceIdOf)),
    severities: fc.uniqueArray(fc.constantFrom(...ALERT_SEVERITIES), { minLength: 1 }),
    group: fc.constantFrom('eu', "o'us", 'eu/north'),
    within: fc.array(fc.constantFrom('eu', "o'us"), { maxLength: 2 }),
    ruleId: fc.constantFrom(RuleId('rul_1'), RuleId('rul_2')),
    type: fc.constantFrom('threshold', 'absence'),
    groupKey: fc.constantFrom('rule:rul_1', 'rule:rul_3'),
    acknowledged: fc.boolean(),
    flapping: fc.boolean(),
    snoozed: fc.boolean(),
    from: fc.nat(50).map(moment),
    to: fc.nat(50).map(moment),
    sort: fc.constantFrom<AlertSort>('fired_at', 'severity', 'last_value_at'),
    descending: fc.boolean(),
  },
  { requiredKeys: [] },
)

export function pastAlertsContract({
  name,
  open,
  runs,
}: {
  readonly name: string
  readonly open: () => Promise<Telemetry>
  readonly runs: number
}): void {
  describe(`alerts that are resolved: ${name}`, () => {
    let telemetry: Telemetry
    let run = 0
    beforeAll(async () => {
      telemetry = await open()
    })
    afterAll(async () => {
      await telemetry.close()
    })

    function rowsOf(made: readonly GeneratedAlert[], prefix: string): readonly HistoryRow[] {
      return made.flatMap((about, n): HistoryRow[] => {
        const { device, group, fired, lasted, isResolved, commented } = about
        const body = {
          ...{
            alert_id: `${prefix}${n}`,
            rule_id: about.rule,
            group_key: `rule:${about.rule}`,
            type: about.type,
          },
          ...{ group, severity: about.severity, acknowledged: about.acknowledged, flapping: about.flapping },
          ...{ fired_at: toIso(moment(fired)), snoozed_until: about.snoozed ? toIso(moment(99)) : null },
          last_value_at: about.valueAt === null ? null : toIso(moment(about.valueAt)),
        }
        const row = (at: number, version: number, more: { event: string; state: string }): HistoryRow => ({
          deviceId: DeviceIdOf(`${prefix}${device}`),
          kind: 'alert',
          at: Micros(moment(at) * 1_000 + n),
          version,
          body: { ...body, ...more },
        })
        const resolved = row(fired + lasted, 2, { event: 'alert.resolved', state: 'resolved' })
        const word = row(fired + lasted + 1, 3, { event: 'alert.updated', state: 'resolved' })
        return [
          row(fired, 1, { event: 'alert.fired', state: 'firing' }),
          ...(isResolved ? [resolved, ...(commented ? [word] : [])] : []),
        ]
      })
    }

    test('are found by what they were at their end, each once and in the order asked for', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(ALERT, { minLength: 1, maxLength: 20 }),
          fc.array(QUERY, { minLength: 4, maxLength: 4 }),
          fc.integer({ min: 1, max: 9 }),
          async (made, queries, limit) => {
            const prefix = `pa${run++}-`
            const rows = rowsOf(made, prefix)
            // Rows that are sent again count once.
            await telemetry.insert(historyBlock(rows))
            await telemetry.insert(historyBlock(rows.slice(-2)))
            const named = (id: DeviceId) => DeviceIdOf(`${prefix}${id}`)
            for (const { deviceId = DeviceIdOf('a'), deviceIds, ...more } of queries) {
              const known = [`${prefix}0`, `${prefix}1`, 'alt_none']
              const ids = { deviceId: named(deviceId), deviceIds: deviceIds?.map(named) }
              const query = { ...more, ...ids, known, limit }
              expect(await telemetry.pastAlerts(query)).toEqual(pastAlerts(rows, query))
            }
          },
        ),
        { numRuns: runs },
      )
    })

    test('are found over all devices', async () => {
      const [sample] = fc.sample(fc.record({ one: ALERT, other: ALERT }), 1)
      if (sample === undefined) throw new Error('no sample')
      const made = [sample.one, sample.other].map((each, n) => ({
        ...{ ...each, device: DEVICES[n] ?? 'a', rule: 'rul_all', isResolved: true },
      }))
      await telemetry.insert(historyBlock(rowsOf(made as readonly GeneratedAlert[], 'all-')))
      const found = await telemetry.pastAlerts({ ruleId: RuleId('rul_all'), known: ['all-1'], limit: 1 })
      expect(found).toMatchObject({ total: 2, known: 1, alerts: [{ rule_id: 'rul_all' }] })
    })

    test('have their moves, newest first, and those of no other alert', async () => {
      const [one] = fc.sample(ALERT, 1)
      if (one === undefined) throw new Error('no sample')
      const made = [0, 1].map(() => ({ ...one, device: 'a', isResolved: true, commented: true }))
      await telemetry.insert(historyBlock(rowsOf(made as readonly GeneratedAlert[], 'mv-')))
      const moves = await telemetry.alertMoves(DeviceIdOf('mv-a'), AlertId('mv-1'))
      expect(moves.map(({ body }) => [body['alert_id'], body['event']])).toEqual([
        ['mv-1', 'alert.updated'],
        ['mv-1', 'alert.resolved'],
        ['mv-1', 'alert.fired'],
      ])
      expect(await telemetry.alertMoves(DeviceIdOf('mv-a'), AlertId('mv-9'))).toEqual([])
    })
  })
}
