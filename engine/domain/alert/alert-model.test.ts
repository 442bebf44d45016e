// Rules against an oracle that knows no deadlines, vitals or flat arrays: it looks at every second, with the whole history.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { JudgedDevice, ruleOf } from './testing/judged-device.ts'

const SECONDS = 90

interface Settings {
  readonly kind: 'threshold' | 'absence' | 'both' | 'either' | 'levels'
  readonly forSec: number
  readonly keepSec: number
  readonly clear: number | undefined
  readonly absentSec: number
  readonly repeatSec: number
  readonly flap: { readonly episodes: number; readonly hold_sec: number }
}

const settings: fc.Arbitrary<Settings> = fc.record({
  kind: fc.constantFrom('threshold', 'absence', 'both', 'either', 'levels'),
  forSec: fc.constantFrom(0, 0, 1, 3, 8),
  keepSec: fc.constantFrom(0, 0, 2, 5),
  clear: fc.constantFrom(undefined, 8),
  absentSec: fc.integer({ min: 1, max: 9 }),
  repeatSec: fc.constantFrom(60, 604_800),
  flap: fc.record({ episodes: fc.integer({ min: 2, max: 5 }), hold_sec: fc.constantFrom(10, 25) }),
})
/** What happens in each second: a value comes, or nothing, and the process may be started again. */
const history = fc.array(
  fc.record({
    value: fc.option(fc.constantFrom(5, 9, 11, 15), { nil: undefined, freq: 2 }),
    restart: fc.integer({ min: 0, max: 9 }).map((roll) => roll === 0),
  }),
  { minLength: SECONDS, maxLength: SECONDS },
)

test('alerts move as an oracle says that looks at everything in every second', () => {
  fc.assert(
    fc.property(settings, history, (given, seconds) => {
      const device = new JudgedDevice([ruleOf(wishOf(given))])
      seconds.forEach(({ value, restart }, at) => {
        if (restart) device.restart()
        if (value !== undefined) device.report(at, { m: value })
        device.look(at)
      })
      const values = seconds.map(({ value }) => value)
      expect(device.seen.map(({ at, notice, severity, event }) => ({ at, event, notice, severity }))).toEqual(
        foretold(given, values),
      )
    }),
    { numRuns: 500 },
  )
})

function wishOf({
  kind,
  forSec,
  keepSec,
  clear,
  absentSec,
  repeatSec,
  flap,
}: Settings): Partial<RuleRequestBody> {
  const cleared = clear === undefined ? {} : { clear_value: clear }
  const threshold = { kind: 'threshold', metric: 'm', op: '>', value: 10, ...cleared } as const
  const absence = { kind: 'absence', metric: 'm', for_sec: absentSec } as const
  const levels = [
    { severity: 'warning', value: 10, ...cleared },
    { severity: 'critical', value: 12 },
  ] as const
  const condition = {
    threshold,
    levels: threshold,
    absence,
    both: { all: [threshold, absence] },
    either: { any: [threshold, absence] },
  }[kind]
  return {
    condition,
    levels: kind === 'levels' ? [...levels] : null,
    for_sec: forSec,
    keep_firing_for_sec: keepSec,
    repeat_interval_sec: repeatSec,
    flap: { ...flap, within_sec: 60 },
  }
}

interface ExpectedAlert {
  readonly at: number
  readonly event: string
  readonly notice: string | undefined
  readonly severity: string
}

function foretold(given: Settings, values: readonly (number | undefined)[]): readonly ExpectedAlert[] {
  const told: ExpectedAlert[] = []
  const fired: number[] = []
  let open: { severity: string; toldAt: number; flapping: boolean } | undefined
  let over = -1
  for (let at = 0; at < values.length; at++) {
    const truths = (second: number) => levelsAt(given, values, second)
    /** How long the level has been as it is now, with this second. */
    const lasted = (level: number) => {
      let first = at
      while (first > 0 && truths(first - 1)[level] === truths(at)[level]) first--
      return at - first
    }
    const names = given.kind === 'levels' ? ['critical', 'warning'] : ['warning']
    const now = truths(at)
    const say = (event: string, notice: string | undefined) =>
      told.push({ at, event, notice, severity: open?.severity ?? '' })
    const long = names.findIndex((_, level) => now[level] === true && lasted(level) >= given.forSec)
    if (open === undefined) {
      if (long === -1 || at - lasted(long) <= over) continue
      fired.push(at)
      const recent = fired.filter((each) => each > at - 60).length
      open = { severity: names[long] ?? '', toldAt: at, flapping: recent >= given.flap.episodes }
      say('fired', 'fired')
      continue
    }
    if (!now.includes(true)) {
      const since = Math.min(...names.map((_, level) => lasted(level)))
      if (since >= (open.flapping ? given.flap.hold_sec : given.keepSec)) {
        say('resolved', 'resolved')
        open = undefined
        over = at
      }
      continue
    }
    const held = now.indexOf(true)
    const is = names.indexOf(open.severity)
    if (long !== -1 && long < is) {
      open = { ...open, severity: names[long] ?? '', toldAt: at }
      say('severity', 'fired')
    } else if (held > is) {
      open = { ...open, severity: names[held] ?? '' }
      say('severity', undefined)
    }
    if (!open.flapping && at - open.toldAt >= given.repeatSec) {
      open = { ...open, toldAt: at }
      say('repeat', 'repeat')
    }
  }
  return told
}

/** Whether each level is true at the end of this second, the worst first. */
function levelsAt(
  { kind, clear, absentSec }: Settings,
  values: readonly (number | undefined)[],
  second: number,
): readonly boolean[] {
  const known = values.slice(0, second + 1)
  const above = (value: number, until: number | undefined) =>
    known.reduce<boolean>((was, each) => {
      if (each === undefined) return was
      return each > value || (was && until !== undefined && each > until)
    }, false)
  const heardAt = Math.max(
    0,
    known.findLastIndex((value) => value !== undefined),
  )
  const absent = second - heardAt >= absentSec
  const isUnknown = known.every((value) => value === undefined)
  switch (kind) {
    case 'threshold':
      return [above(10, clear)]
    case 'absence':
      return [absent]
    case 'both':
      return [above(10, clear) && absent]
    case 'either':
      return [(above(10, clear) && !isUnknown) || absent]
    case 'levels':
      return [above(12, undefined), above(10, clear)]
  }
}
