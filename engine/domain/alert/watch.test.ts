// [contract 5.2] The short way of a message that has a known shape decides what the long way decides.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { type DeviceId, Micros } from '../../../schemas/ids.ts'
import { Columns } from '../telemetry/columns.ts'
import { Fields } from '../telemetry/fields.ts'
import { Latest } from '../telemetry/latest.ts'
import { report } from '../telemetry/report.ts'
import { JudgedDevice, ruleOf, START } from './testing/judged-device.ts'
import { restoreWatch } from './watch-memory.ts'

const value = fc.integer({ min: 0, max: 4 })
const rule: fc.Arbitrary<RuleRequestBody['condition']> = fc.oneof(
  fc.record({
    kind: fc.constant('threshold' as const),
    metric: fc.constantFrom('a', 'b'),
    op: fc.constantFrom(
      '>' as const,
      '>=' as const,
      '<' as const,
      '<=' as const,
      '==' as const,
      '!=' as const,
    ),
    value,
  }),
  value.map((limit) => ({
    ...{ kind: 'threshold' as const, metric: 'a', op: '>' as const, value: limit + 1, clear_value: limit },
  })),
  value.map((limit) => ({
    ...{ kind: 'threshold' as const, metric: 'b', op: '<' as const, value: limit, clear_value: limit + 1 },
  })),
  fc.constant({ kind: 'threshold' as const, metric: 'mode', op: '==' as const, value: 'auto' }),
)
const message = fc.record({ a: value, b: value, mode: fc.constantFrom('auto', 'hand') })

test('a message in a shape and the same message read in full leave the same behind', () => {
  fc.assert(
    fc.property(
      fc.array(rule, { minLength: 1, maxLength: 12 }),
      fc.array(message),
      (conditions, messages) => {
        const { watch } = new JudgedDevice(
          conditions.map((condition, i) => ruleOf({ condition }, `rul_${i}`)),
        )
        if (watch === undefined) return
        const known = { receivedAt: 0, latestOf: () => undefined }
        const [short, long] = [
          restoreWatch(watch.fit, undefined, known),
          restoreWatch(watch.fit, undefined, known),
        ]
        const columns = new Columns()
        messages.forEach((data, i) => {
          const at = Micros((START + i * 1_000) * 1_000)
          // An id as a device has it.
          const about = { deviceId: 'robot' as DeviceId, name: undefined, receivedAt: at, version: i + 1 }
          const stored = report(Buffer.from(JSON.stringify(data)), about, new Latest(), columns)
          if (stored.kind !== 'stored' || stored.shape === undefined)
            throw new Error('the message has no shape')
          short.feedShape(stored.shape, columns.shapes.slotValues, at, at)
          const flagged = short.takeFlagged()
          const fields = new Fields()
          for (const [name, each] of Object.entries(data)) fields.add(name, name, each)
          long.feedReports([{ at, fields }], at)
          expect([flagged, short.numbers, short.texts]).toEqual([
            long.takeFlagged(),
            long.numbers,
            long.texts,
          ])
        })
      },
    ),
    { numRuns: 40 },
  )
})
