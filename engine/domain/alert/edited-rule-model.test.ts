// A rule that people change while it is judged, against an oracle that knows only the latest value and the rule.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JudgedDevice, ruleOf } from './testing/judged-device.ts'

const SECONDS = 15

interface Terms {
  readonly above: number
  readonly forSec: number
  readonly enabled: boolean
}

const terms: fc.Arbitrary<Terms> = fc.record({
  above: fc.constantFrom(7, 10, 12),
  forSec: fc.constantFrom(0, 0, 3),
  enabled: fc.integer({ min: 0, max: 3 }).map((roll) => roll > 0),
})
/** What happens in each second, in this order: the rule changes, the process starts again, a value comes. */
const history = fc.array(
  fc.record({
    edit: fc.option(terms, { nil: undefined, freq: 5 }),
    restart: fc.integer({ min: 0, max: 9 }).map((roll) => roll === 0),
    value: fc.option(fc.constantFrom(5, 9, 11, 15), { nil: undefined, freq: 2 }),
  }),
  { minLength: SECONDS, maxLength: SECONDS },
)
type Second = typeof history extends fc.Arbitrary<readonly (infer Each)[]> ? Each : never

test('alerts move as an oracle says that judges anew whenever the rule changes', () => {
  fc.assert(
    fc.property(terms, history, (first, seconds) => {
      const rule = ({ above, forSec, enabled }: Terms, revision: number) => ({
        ...ruleOf({
          condition: { kind: 'threshold', metric: 'm', op: '>', value: above },
          ...{ enabled, for_sec: forSec, repeat_interval_sec: 604_800 },
          // Never reached: what flaps is tried elsewhere.
          flap: { episodes: 20, within_sec: 60, hold_sec: 10 },
        }),
        revision,
      })
      const device = new JudgedDevice([rule(first, 1)])
      seconds.forEach(({ edit, restart, value }, at) => {
        device.look(at)
        if (edit !== undefined) device.settings([rule(edit, at + 2)])
        device.look(at)
        if (restart) device.restart()
        if (value !== undefined) device.report(at, { m: value })
        device.look(at)
      })
      const told = foretold(first, seconds)
      // An open alert takes over what the rule says now.
      const moves = device.seen.filter(({ event }) => event !== 'updated')
      expect(moves.map(({ at, event, reason }) => [at, event, reason])).toEqual(told)
    }),
    { numRuns: 500 },
  )
})

type ExpectedNotice = readonly [at: number, event: 'fired' | 'resolved', reason: string | undefined]

function foretold(first: Terms, seconds: readonly Second[]): readonly ExpectedNotice[] {
  const told: ExpectedNotice[] = []
  let rule = first
  let latest: { readonly value: number; readonly at: number } | undefined
  let since: number | undefined
  let isOpen = false
  const isTrue = () => rule.enabled && latest !== undefined && latest.value > rule.above
  const end = (at: number, reason: string) => {
    if (isOpen) told.push([at, 'resolved', reason])
    isOpen = false
  }
  const look = (at: number) => {
    if (isOpen || since === undefined || at < since + rule.forSec) return
    isOpen = true
    told.push([at, 'fired', undefined])
  }
  seconds.forEach(({ edit, value }, at) => {
    look(at)
    if (edit !== undefined) {
      const isAnew = edit.above !== rule.above || edit.enabled !== rule.enabled
      rule = edit
      // It is judged by the latest value, and counts from when that came.
      if (isAnew) since = isTrue() ? latest?.at : undefined
      if (!isTrue()) end(at, rule.enabled ? 'rule_changed' : 'rule_disabled')
    }
    look(at)
    if (value !== undefined) {
      latest = { value, at }
      since = isTrue() ? (since ?? at) : undefined
      if (since === undefined) end(at, 'recovered')
    }
    look(at)
  })
  return told
}
