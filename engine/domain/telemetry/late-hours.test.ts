import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DeviceId } from '../../../schemas/ids.ts'
import { disjoint, endOf, type LateHour } from './late-hours.ts'

const HOUR_SEC = 3_600

const mark = fc
  .record({
    device: fc.constantFrom('a', 'b'),
    hour: fc.nat(9),
    hours: fc.option(fc.integer({ min: 1, max: 5 })),
  })
  .map(({ device, hour, hours }): LateHour => {
    const from = hour * HOUR_SEC
    const named = { deviceId: device as DeviceId, hour: from }
    return hours === null ? named : { ...named, until: from + hours * HOUR_SEC }
  })

/** The hours of all marks, as often as they are marked. */
const hoursOf = (marks: readonly LateHour[]) =>
  marks.flatMap((each) => {
    const hours: string[] = []
    for (let at = each.hour; at < endOf(each); at += HOUR_SEC) hours.push(`${each.deviceId} ${at}`)
    return hours
  })

test('marks that overlap are joined to ones that cover the same hours, each once', () => {
  fc.assert(
    fc.property(fc.array(mark, { maxLength: 12 }), (marks) => {
      expect(hoursOf(disjoint(marks)).sort()).toEqual([...new Set(hoursOf(marks))].sort())
    }),
  )
})
