import { expect, test } from 'vitest'
import type { LiveConnection, LiveFrame, Statement } from '../live-recording.ts'
import type { Change, Recording } from '../recording.ts'
import { checkLive } from './live.ts'
import { DEVICE, recordingOf, textsOf } from './testing/recording.ts'

type Values = Omit<Statement, 'device'>

const shown = (seen: Values, device = DEVICE) => [{ device, ...seen }]
const snapshot = (channel: LiveFrame['channel'], at: number, seen: Values): LiveFrame => ({
  kind: 'snapshot',
  channel,
  at,
  shown: shown(seen),
})
const report = (seq: number, plain: number, ts = seq): LiveFrame => ({
  kind: 'event',
  channel: 'telemetry',
  at: 10 + seq,
  seq,
  ts,
  shown: shown({ plain }),
})
const change = (seq: number, version: number, value: string): LiveFrame => ({
  kind: 'event',
  channel: 'shadows',
  at: 10 + seq,
  seq,
  ts: seq,
  shown: shown({ version, section: 'desired', value }),
})
const resync = (at: number): LiveFrame => ({ kind: 'resync', channel: 'telemetry', at, shown: [] })

const connection = (frames: readonly LiveFrame[], more: Partial<LiveConnection> = {}): LiveConnection => ({
  ...{ watcher: 'w', node: 'n', groups: [], forbidden: [], openedAt: 1, frames: [...frames] },
  ...more,
})
const judge = (
  frames: readonly LiveFrame[],
  { more, ...parts }: Parameters<typeof recordingOf>[0] & { readonly more?: Partial<LiveConnection> } = {},
) => checkLive(recordingOf({ live: [connection(frames, more)], ...parts }))

const HISTORY = ['a', 'b', 'c'].map((value, i): Change => ({ version: i + 1, section: 'desired', value }))
const shadowed = { stored: { changes: HISTORY, shadow: { version: 3, desired: 'c' } } }
const reported = { stored: { plain: [0, 1, 1, 2, 3] } }
const SEVERAL: Recording['promises'] = {
  isPubackDurable: false,
  brokerLossMs: 0,
  isFeedLossless: false,
  clockSkewMs: 0,
}

test('a snapshot and all that is stored after it are correct, whichever of two equal reports it showed', () => {
  const told = [snapshot('telemetry', 2, { plain: 1 }), report(1, 2), report(2, 3)]
  expect(judge(told, reported)).toEqual([])
  const first = [snapshot('telemetry', 2, { plain: 1 }), report(1, 1), report(2, 2), report(3, 3)]
  expect(judge(first, reported)).toEqual([])
  const versions = [
    snapshot('shadows', 2, { version: 1, desired: 'a' }),
    change(1, 2, 'b'),
    change(2, 3, 'c'),
  ]
  expect(judge(versions, shadowed)).toEqual([])
})

test('a report that the snapshot shows already is a violation', () => {
  const told = [report(1, 1), report(2, 2), report(3, 3)]
  const stored = { stored: { plain: [0, 1, 2, 3] } }
  expect(textsOf(judge([snapshot('telemetry', 2, { plain: 2 }), ...told], stored))).toEqual([
    'telemetry at 11 to w at n: 1 followed 2, which is not what is stored',
  ])
})

test('a late report that is left out, or is not told in the end, is a violation', () => {
  const late = (seq: number, timed: number): LiveFrame => ({ ...report(seq, 0), shown: shown({ timed }) })
  const stored = { stored: { timed: [0, 1, 3, 4].map((slot) => ({ slot, value: slot })) } }
  const first = snapshot('telemetry', 2, { timed: 0 })
  // One that was lost with the broker is not stored, and one that is sent again may be told again.
  expect(judge([first, late(1, 1), late(2, 3), late(3, 1), late(4, 4)], stored)).toEqual([])
  expect(textsOf(judge([first, late(1, 3)], stored))).toEqual([
    'telemetry at 11 to w at n: late report 3 followed 0',
    'telemetry at 11 to w at n: late report 3 is the last one, and 4 is stored',
  ])
  expect(textsOf(judge([snapshot('telemetry', 2, {})], stored))).toEqual([
    'telemetry at 2 to w at n: late report -1 is the last one, and 4 is stored',
  ])
})

test('a report that is left out is a violation, unless the client was slow and is told', () => {
  const told = [snapshot('telemetry', 2, { plain: 0 }), report(1, 1), report(2, 3)]
  expect(textsOf(judge(told, reported))).toEqual([
    'telemetry at 12 to w at n: 3 followed 1, which is not what is stored',
  ])
  expect(judge([...told, resync(20)], reported)).toEqual([])
  const slow = { target: 'api-link', kind: 'freeze', from: 3, to: 4 }
  expect(judge(told, { ...reported, faults: [slow] })).toEqual([])
  const killed = { target: 'service', kind: 'kill', from: 3, to: 4 }
  expect(judge(told, { ...reported, faults: [killed] })).toHaveLength(1)
  expect(judge(told, { ...reported, faults: [killed], promises: SEVERAL })).toEqual([])
})

test('a report that is older than the one before is a violation', () => {
  const told = [snapshot('telemetry', 2, { plain: 1 }), report(1, 2, 9), report(2, 3, 8)]
  expect(textsOf(judge(told, reported))).toEqual([
    'telemetry at 12 to w at n: 3 came after 2, which is newer by its time',
  ])
})

test('reports and versions that are stored and not told in the end are a violation, which may only be lateness', () => {
  const told = [snapshot('telemetry', 2, { plain: 1 }), snapshot('shadows', 2, { version: 2, desired: 'b' })]
  const found = judge(told, { stored: { ...reported.stored, ...shadowed.stored } })
  expect(textsOf(found)).toEqual([
    'telemetry at 2 to w at n: 1 is the last one, and 3 is stored',
    'shadows at 2 to w at n: version 2 is the last one, and it is at 3',
  ])
  expect(found.every(({ isAbsence }) => isAbsence)).toBe(true)
})

test('a version that is left out, that comes again, or that tells something else is a violation', () => {
  const told = [
    snapshot('shadows', 2, { version: 1, desired: 'a' }),
    change(1, 3, 'c'),
    change(2, 3, 'c'),
    change(3, 2, 'x'),
  ]
  expect(textsOf(judge(told, shadowed))).toEqual([
    'shadows at 11 to w at n: version 3 followed 1',
    'shadows at 12 to w at n: version 3 came after 3',
    'shadows at 13 to w at n: version 2 came after 3',
    'shadows at 13 to w at n: version 2 told desired x, and desired b is stored',
  ])
})

test('a snapshot that shows another state than its version is a violation', () => {
  const found = judge([snapshot('shadows', 2, { version: 3, desired: 'b' })], shadowed)
  expect(textsOf(found)).toEqual([
    'shadows at 2 to w at n: the snapshot of version 3 shows b, undefined, and c, undefined is stored',
  ])
})

test('a number that is left out is a violation', () => {
  expect(
    textsOf(judge([snapshot('telemetry', 2, { plain: 1 }), report(1, 2), report(3, 3)], reported)),
  ).toEqual(['w got event 3 of telemetry after 1, at 13'])
})

test('a device of another group, and a channel that is not for the role, are violations', () => {
  const more = { groups: ['a'], forbidden: ['commands'] } as const
  const told = [snapshot('telemetry', 2, { plain: 3 })]
  expect(judge(told, { ...reported, more, groups: { [DEVICE]: 'a' } })).toEqual([])
  expect(textsOf(judge(told, { ...reported, more, groups: { [DEVICE]: 'b' } }))).toEqual([
    'w was told of it on telemetry at 2',
  ])
  expect(judge(told, { ...reported, more })).toHaveLength(1)
  const refused: LiveFrame = { kind: 'refused', channel: 'commands', at: 3, shown: [] }
  expect(judge([refused], { more })).toEqual([])
  expect(textsOf(judge([{ ...refused, kind: 'subscribed' }], { more }))).toEqual([
    'w got a subscribed on commands at 3, which is not for its role',
  ])
})

test('a listener without a connection at the end is a violation', () => {
  expect(textsOf(judge([], { more: { closedAt: 9 } }))).toEqual(['w has no connection at the end'])
})
