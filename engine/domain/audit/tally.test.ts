import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import type { AuditEntry } from './entry.ts'
import { RefusalTally } from './tally.ts'

const at = (ms: number) => Millis(Date.UTC(2026, 2, 1) + ms)
const refusal = (over: Partial<AuditEntry> = {}): AuditEntry => ({
  actor: { type: 'anonymous' },
  action: 'mqtt.connect',
  outcome: 'refused',
  code: 'MQTT_CONNECTION_REFUSED',
  ip: '10.0.0.1',
  ...over,
})

/** Returns the resulting entries in the order in which they are written. */
function run(tally: RefusalTally, events: readonly (readonly [number, Partial<AuditEntry>?])[]) {
  const written: [number, string | undefined, number][] = []
  for (const [ms, over] of events) {
    for (const { entry, at: last, count } of tally.take(at(ms))) written.push([last - at(0), entry.ip, count])
    const entry = refusal(over)
    if (tally.add(entry, at(ms))) written.push([ms, entry.ip, 1])
  }
  for (const { entry, at: last, count } of tally.takeAll()) written.push([last - at(0), entry.ip, count])
  return written
}

test('the first refusal of a kind is an entry at once, and the others of its minute become one at its end', () => {
  expect(run(new RefusalTally(), [[0], [10], [59_999], [60_000], [60_001], [300_000]])).toEqual([
    [0, '10.0.0.1', 1],
    [59_999, '10.0.0.1', 2],
    [60_000, '10.0.0.1', 1],
    [60_001, '10.0.0.1', 1],
    [300_000, '10.0.0.1', 1],
  ])
})

test('refusals of different actors, actions, targets, addresses or codes are counted apart', () => {
  const kinds: readonly Partial<AuditEntry>[] = [
    {},
    { ip: '10.0.0.2' },
    { action: 'login' },
    { code: 'FORBIDDEN' },
    { target: 'users/usr_a' },
    { actor: { type: 'anonymous', name: 'a@example.com' } },
    { actor: { type: 'device', id: 'd' } },
  ]
  const tally = new RefusalTally()
  expect(kinds.map((over) => tally.add(refusal(over), at(0)))).toEqual(kinds.map(() => true))
  expect(kinds.map((over) => tally.add(refusal(over), at(1)))).toEqual(kinds.map(() => false))
  expect(tally.takeAll().map(({ count }) => count)).toEqual(kinds.map(() => 1))
})

test('a flood of kinds is counted by action and code, and no refusal is missing', () => {
  const tally = new RefusalTally(3)
  let entries = 0
  for (let i = 0; i < 10_000; i++)
    if (tally.add(refusal({ ip: `10.0.${i >> 8}.${i & 255}` }), at(i))) entries++
  expect(entries).toBe(3)
  const [others, ...more] = tally.takeAll()
  expect(more).toEqual([])
  expect(others).toEqual({
    at: at(9_999),
    count: 9_997,
    entry: {
      actor: { type: 'anonymous' },
      action: 'mqtt.connect',
      outcome: 'refused',
      code: 'MQTT_CONNECTION_REFUSED',
      detail: { various: true },
    },
  })
  expect(tally.add(refusal(), at(60_000))).toBe(true)
})

test('one address leaves room for the refusals of others, and is still named beyond its share', () => {
  const tally = new RefusalTally()
  const login = (ip: string, name: string) =>
    tally.add(refusal({ action: 'login', ip, actor: { type: 'anonymous', name } }), at(1))
  for (let i = 0; i < 2_000; i++) login('10.0.0.1', `made-up-${i}@example.com`)
  expect(login('10.0.0.2', 'ada@example.com')).toBe(true)
  expect(login('10.0.0.2', 'ada@example.com')).toBe(false)
  const counts = tally.takeAll().map(({ entry, count }) => [entry.ip, entry.actor.name, count])
  expect(counts).toEqual([
    ['10.0.0.1', undefined, 1_950],
    ['10.0.0.2', 'ada@example.com', 1],
  ])
})

test('an existing account is named, however many made-up ones were tried before it', () => {
  const ada = { actor: { type: 'anonymous', name: 'ada@example.com' }, target: 'users/usr_ada' } as const
  const login = (tally: RefusalTally, name: string) =>
    tally.add(refusal({ action: 'login', actor: { type: 'anonymous', name } }), at(1))
  const ofAddress = new RefusalTally()
  for (let i = 0; i < 2_000; i++) login(ofAddress, `made-up-${i}@example.com`)
  for (let i = 0; i < 5; i++) ofAddress.add(refusal({ action: 'login', ...ada }), at(2))
  const named = { ...refusal({ action: 'login' }), ...ada }
  expect(ofAddress.takeAll()).toContainEqual({ at: at(2), count: 5, entry: named })
  // Even where addresses are no longer distinguished, the account is named.
  const full = new RefusalTally(1)
  login(full, 'made-up@example.com')
  full.add(refusal({ action: 'login', ...ada }), at(2))
  const { ip: _, ...fromAnywhere } = named
  expect(full.takeAll()).toEqual([{ at: at(2), count: 1, entry: fromAnywhere }])
})
