// Alert rules in a shard: what is saved, told and left for the notifier, and what a replay does.
import { describe, expect, test } from 'vitest'
import type { RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { AlertId, Millis, toIso } from '../../../schemas/ids.ts'
import type { Alerts } from '../../domain/alert/alerts-part.ts'
import { decodeNotice } from '../../domain/alert/notice.ts'
import { createRule, type Rule } from '../../domain/alert/rule.ts'
import { newPackr } from '../../domain/packing.ts'
import { LIMITS } from '../../limits.ts'
import type { DevicePart } from '../../ports/store.ts'
import type { WorkResult } from './protocol.ts'
import { deviceOf, request, START, telemetry } from './testing/items.ts'
import { at, ShardBench } from './testing/shard.ts'

const online = deviceOf('a', { status: 'online' })
/** How many alerts may be open in a shard of one partition. */
const ROOM = Math.ceil(LIMITS.alertsOpenMax / LIMITS.partitions)

function ruleOf(wish: Partial<RuleRequestBody> = {}, id = 'rul_1'): Rule {
  const made = createRule(
    {
      name: 'hot',
      target: { type: 'all' },
      condition: { kind: 'threshold', metric: 't', op: '>', value: 10 },
      ...wish,
    },
    { id, by: 'usr_ann', now: Millis(START - 1_000) },
  )
  if (made.kind === 'mistakes') throw new Error(JSON.stringify(made.errors))
  return made.rule
}

const settingsOf = (...rules: readonly Rule[]) => ({ revision: 1, rules, silences: [] })
const noticesOf = ({ proposal }: WorkResult) => proposal.notices.map(({ bytes }) => decodeNotice(bytes))
const told = (result: WorkResult) =>
  result.proposal.feed.flatMap((event) => (event.kind === 'alert' ? [event.event] : []))
const savedAlerts = ({ proposal }: WorkResult) =>
  proposal.parts.flatMap(({ part, bytes }): Alerts[] => (part === 'alerts' ? [newPackr().unpack(bytes)] : []))

describe('rules that change again and again', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f']
  const often = (revision: number) => ({ ...ruleOf({ repeat_interval_sec: 60 }), revision })

  test('do not postpone reminders, and the sweep still reaches every device', () => {
    const devices = ids.map((id) => deviceOf(id, { status: 'online' }))
    const bench = new ShardBench(devices, { dueDevicesPerTaskMax: 1 })
    bench.work({ alertSettings: settingsOf(often(1)) })
    expect(told(bench.apply(ids.map((id) => telemetry(id, 1, '{"t":11}'))))).toHaveLength(6)
    // Keeps the devices online until they are due.
    bench.apply(ids.map((id) => telemetry(id, 30_000, '{"t":11}')))
    const reminded: string[] = []
    let isCut = false
    // Each task judges one device, so six tasks judge all.
    for (let task = 0; task < 12; task++) {
      const result = bench.work({
        alertSettings: settingsOf(often(task + 2)),
        sweep: isCut ? 'rest' : at(60_002 + task),
      })
      isCut = result.isSweepCut
      for (const { event, device } of noticesOf(result)) reminded.push(`${event} ${device?.id}`)
    }
    expect(reminded).toEqual(ids.map((id) => `repeat ${id}`))
  })

  test('take effect at once on some devices, and on the others with the sweep or their next message', () => {
    const atOnce = LIMITS.dueDevicesPerTaskMax
    const devices = Array.from({ length: atOnce + 4 }, (_, i) => deviceOf(`d${i}`, { status: 'online' }))
    const bench = new ShardBench(devices, { dueDevicesPerTaskMax: atOnce + 1 })
    const many = Array.from({ length: LIMITS.rulesPerDeviceMax + 1 }, (_, i) => ruleOf({}, `rul_${i}`))
    const overloaded = () => bench.ask({ kind: 'alert_counts', within: undefined }).overloaded
    bench.work({ alertSettings: settingsOf(...many) })
    expect(overloaded()).toBe(atOnce)
    const said = bench.apply([telemetry(`d${atOnce + 3}`, 1, '{"t":11}')])
    expect([overloaded(), noticesOf(said).length]).toEqual([atOnce + 1, LIMITS.rulesPerDeviceMax])
    bench.work({ sweep: at(250) })
    expect(overloaded()).toBe(atOnce + 2)
    bench.work({ sweep: 'rest' })
    expect(overloaded()).toBe(atOnce + 4)
  })
})

describe('a rule that fits a device', () => {
  test('saves the alert with its move, its notice and its row, once', () => {
    const bench = new ShardBench([online])
    bench.work({ alertSettings: settingsOf(ruleOf()) })
    expect(savedAlerts(bench.apply([telemetry('a', 1, '{"t":9}')]))).toEqual([])
    const fired = bench.apply([telemetry('a', 2, '{"t":11}')])
    expect(savedAlerts(fired)).toMatchObject([
      { open: [{ ruleName: 'hot', value: 11, count: 1, revision: 1 }] },
    ])
    expect(told(fired)).toEqual(['alert.fired'])
    expect(noticesOf(fired)).toMatchObject([
      { event: 'fired', severity: 'warning', message: 'a: threshold 11 (10)' },
    ])
    expect(fired.proposal.history.map(({ kind }) => kind)).toEqual(['alert'])
    const still = bench.apply([telemetry('a', 3, '{"t":12}')])
    expect([savedAlerts(still), told(still), noticesOf(still)]).toEqual([[], [], []])
    expect(bench.ask({ kind: 'alerts', query: { states: ['firing'], limit: 9 } })).toMatchObject({
      total: 1,
      alerts: [{ state: 'firing', value: 12, device_id: 'a' }],
    })
    const over = bench.apply([telemetry('a', 4, '{"t":9}')])
    expect(noticesOf(over)).toMatchObject([{ event: 'resolved', revision: 2 }])
    expect(savedAlerts(over)).toMatchObject([{ open: [], resolved: [{ reason: 'recovered', value: 9 }] }])
  })

  test('counts its `for_sec` without messages, but not before the backlog was read', () => {
    const bench = new ShardBench([online])
    bench.work({ alertSettings: settingsOf(ruleOf({ for_sec: 10 })) })
    bench.apply([telemetry('a', 1_000, '{"t":11}')])
    expect(told(bench.work({ sweep: 'behind' }))).toEqual([])
    expect(bench.ask({ kind: 'alerts', query: { states: ['pending'], limit: 9 } })).toMatchObject({
      total: 1,
    })
    expect(told(bench.work({ sweep: at(10_999) }))).toEqual([])
    const fired = bench.work({ sweep: at(11_001) })
    expect(noticesOf(fired)).toMatchObject([{ event: 'fired' }])
    expect(told(bench.work({ sweep: at(12_000) }))).toEqual([])
  })

  test('keeps an alert as it was judged while the sweep is behind its last message', () => {
    const silence = {
      silence_id: 'sil_1',
      matchers: { device_id: 'a' },
      starts_at: at(1_000),
      ends_at: at(60_000),
      windows: [],
      comment: 'work',
      created_by: 'usr_ann',
      created_at: at(1_000),
      revision: 1,
    }
    const settings = (revision: number) => ({
      revision,
      rules: [{ ...ruleOf(), revision }],
      silences: [silence],
    })
    const bench = new ShardBench([online, deviceOf('b', { status: 'online' })])
    bench.work({ alertSettings: settings(1), sweep: at(1) })
    const fired = bench.apply([telemetry('a', 1_500, '{"t":11}')])
    expect([told(fired), noticesOf(fired)]).toEqual([['alert.fired'], []])
    const behind = bench.apply([telemetry('b', 2_000, '{"t":1}')], {
      alertSettings: settings(2),
      sweep: 'behind',
    })
    expect([told(behind), noticesOf(behind)]).toEqual([[], []])
    expect(noticesOf(bench.work({ sweep: at(60_000) }))).toMatchObject([{ event: 'fired' }])
  })

  test('tells once that its alert is pending, and saves nothing for that', () => {
    const bench = new ShardBench([online])
    bench.work({ alertSettings: settingsOf(ruleOf({ for_sec: 10 })) })
    const pending = bench.apply([telemetry('a', 1_000, '{"t":11}')])
    expect([told(pending), savedAlerts(pending), noticesOf(pending), pending.proposal.history]).toEqual([
      ['alert.pending'],
      [],
      [],
      [],
    ])
    expect(pending.proposal.feed).toMatchObject([
      { deviceId: 'a', alert: { alert_id: null, state: 'pending', started_at: toIso(at(1_000)) } },
    ])
    expect(told(bench.apply([telemetry('a', 2_000, '{"t":12}')]))).toEqual([])
    expect(told(bench.apply([telemetry('a', 3_000, '{"t":9}')]))).toEqual([])
    expect(told(bench.apply([telemetry('a', 4_000, '{"t":13}')]))).toEqual(['alert.pending'])
    expect(told(bench.work({ sweep: at(14_001) }))).toEqual(['alert.fired'])
  })

  test('is counted as pending with the severity that it is listed with', () => {
    const bench = new ShardBench([online])
    const levels = [
      { severity: 'warning', value: 10 },
      { severity: 'critical', value: 20 },
    ] as const
    bench.work({ alertSettings: settingsOf(ruleOf({ for_sec: 10, levels: [...levels] })) })
    const pending = bench.apply([telemetry('a', 1_000, '{"t":25}')])
    expect(pending.proposal.feed).toMatchObject([{ alert: { severity: 'critical' } }])
    const { byState } = bench.ask({ kind: 'alert_counts', within: undefined })
    expect(byState.pending).toEqual({ info: 0, warning: 0, critical: 1 })
  })

  test('that is new judges the latest values at once', () => {
    const bench = new ShardBench([online])
    bench.apply([telemetry('a', 1, '{"t":11}')])
    bench.work({ alertSettings: settingsOf(ruleOf()) })
    expect(told(bench.work({ sweep: at(250) }))).toEqual(['alert.fired'])
  })

  test('shows a boolean value as a boolean', () => {
    const bench = new ShardBench([online])
    const rule = ruleOf({ condition: { kind: 'threshold', metric: 'door', op: '==', value: true } })
    bench.work({ alertSettings: settingsOf(rule) })
    const fired = bench.apply([telemetry('a', 1, '{"door":true}')])
    expect(noticesOf(fired)).toMatchObject([
      { message: 'a: threshold true (true)', alert: { value: true, threshold: true } },
    ])
  })

  test('waits if there is no room for its alert, and is judged again only once there is', () => {
    const ids = Array.from({ length: ROOM + 2 }, (_, i) => `d${i}`)
    const devices = ids.map((id) => deviceOf(id, { status: 'online' }))
    const bench = new ShardBench(devices, { dueDevicesPerTaskMax: ROOM + 3 })
    bench.work({ alertSettings: settingsOf(ruleOf()) })
    bench.work({ sweep: at(1) })
    const fired = bench.apply(ids.map((id) => telemetry(id, 2, '{"t":11}')))
    expect(told(fired).filter((event) => event === 'alert.fired')).toHaveLength(ROOM)
    const counts = () => bench.ask({ kind: 'alert_counts', within: undefined }).overflowing
    expect(counts()).toBe(2)
    const idle = bench.work({ sweep: at(5_000) })
    expect([told(idle), idle.counts.evaluations]).toEqual([[], 0])
    bench.apply([telemetry('d0', 5_001, '{"t":1}')])
    const room = bench.work({ sweep: at(5_250) })
    expect([told(room), room.counts.evaluations]).toEqual([['alert.fired'], 1])
    expect(counts()).toBe(1)
    bench.apply([telemetry(ids.at(-1) ?? '', 5_300, '{"t":1}')])
    bench.work({ sweep: at(5_500) })
    expect(counts()).toBe(0)
  })

  test('does not wait for room on a device that it no longer fits', () => {
    const ids = Array.from({ length: ROOM + 2 }, (_, i) => `d${i}`)
    const devices = ids.map((id) => deviceOf(id, { status: 'online' }))
    const bench = new ShardBench(devices, { dueDevicesPerTaskMax: ROOM + 3 })
    bench.work({ alertSettings: settingsOf(ruleOf()) })
    bench.work({ sweep: at(1) })
    bench.apply(ids.map((id) => telemetry(id, 2, '{"t":11}')))
    const counts = () => bench.ask({ kind: 'alert_counts', within: undefined }).overflowing
    expect(counts()).toBe(2)
    bench.apply([request(ids.at(-1) ?? '', 3, { kind: 'decommission' })])
    expect(counts()).toBe(1)
    const narrower = { ...ruleOf({ target: { type: 'device', value: 'd0' } }), revision: 2 }
    bench.work({ alertSettings: { ...settingsOf(narrower), revision: 2 } })
    bench.work({ sweep: at(1_000) })
    expect(counts()).toBe(0)
  })

  test('that is deleted resolves its alert', () => {
    const bench = new ShardBench([online])
    bench.work({ alertSettings: settingsOf(ruleOf()) })
    bench.apply([telemetry('a', 1, '{"t":11}')])
    bench.work({ alertSettings: settingsOf() })
    const over = bench.work({ sweep: at(250) })
    expect(noticesOf(over)).toMatchObject([{ event: 'resolved', alert: { reason: 'rule_deleted' } }])
  })

  test('that is disabled and enabled again opens another alert if its condition is still true', () => {
    const bench = new ShardBench([online])
    const rule = ruleOf()
    const settle = (revision: number, enabled: boolean) => {
      const settings = settingsOf({ ...rule, enabled, revision })
      bench.work({ alertSettings: { ...settings, revision } })
      return told(bench.work({ sweep: at(250 * revision) }))
    }
    expect(settle(1, true)).toEqual([])
    bench.apply([telemetry('a', 300, '{"t":11}')])
    expect(settle(2, false)).toEqual(['alert.resolved'])
    expect(settle(3, true)).toEqual(['alert.fired'])
  })

  test('follows the status of the device, even if a user changes it', () => {
    const rule = ruleOf({ condition: { kind: 'state', in: ['maintenance'] }, during_maintenance: 'evaluate' })
    const bench = new ShardBench([online])
    bench.work({ alertSettings: settingsOf(rule) })
    const edit = { kind: 'edit', replace: false, status: 'maintenance' } as const
    expect(told(bench.apply([request('a', 1, edit)]))).toEqual(['alert.fired'])
    const back = { kind: 'edit', replace: false, status: 'online' } as const
    expect(told(bench.apply([request('a', 2, back)]))).toEqual(['alert.resolved'])
  })

  test('ends when the device leaves its target, although rules change while that is being saved', () => {
    const rule = ruleOf({ target: { type: 'group', value: 'a' } })
    const bench = new ShardBench([deviceOf('a', { status: 'online', group: 'a' })])
    bench.work({ alertSettings: settingsOf(rule) })
    bench.apply([telemetry('a', 1, '{"t":11}')])
    const edit = { kind: 'edit', replace: false, group: 'b' } as const
    expect(told(bench.apply([request('a', 2, edit)]))).toEqual(['alert.resolved'])
    bench.work({ settle: false, alertSettings: { ...settingsOf(rule), revision: 2 } })
    expect(told(bench.work({ sweep: at(250) }))).toEqual([])
    expect(told(bench.apply([telemetry('a', 300, '{"t":12}')]))).toEqual([])
    bench.apply([request('a', 400, { ...edit, group: 'a' })])
    bench.work({ settle: false, alertSettings: { ...settingsOf(rule), revision: 3 } })
    expect(told(bench.apply([telemetry('a', 401, '{"t":9}')]))).toEqual(['alert.resolved'])
  })

  test('accepts what users do to its alert', () => {
    const bench = new ShardBench([online])
    bench.work({ alertSettings: settingsOf(ruleOf()) })
    const fired = bench.apply([telemetry('a', 1, '{"t":11}')])
    const id = AlertId(String(noticesOf(fired)[0]?.alertId))
    const acked = bench.apply([request('a', 2, { kind: 'alert', id, act: { kind: 'ack' } })])
    expect(told(acked)).toEqual(['alert.acknowledged'])
    expect(acked.proposal.replies).toMatchObject([{ kind: 'done' }])
    const ended = bench.apply([request('a', 3, { kind: 'alert', id, act: { kind: 'resolve' } })])
    expect(noticesOf(ended)).toMatchObject([{ event: 'resolved', alert: { reason: 'user' } }])
    // The condition is still true, but that is no new alert.
    expect(told(bench.apply([telemetry('a', 4, '{"t":12}')]))).toEqual([])
    expect(told(bench.apply([telemetry('a', 5, '{"t":9}')]))).toEqual([])
    expect(told(bench.apply([telemetry('a', 6, '{"t":12}')]))).toEqual(['alert.fired'])
    const again = bench.apply([request('a', 7, { kind: 'alert', id, act: { kind: 'ack' } })])
    expect(again.proposal.replies).toMatchObject([{ kind: 'refused', code: 'INVALID_STATE_TRANSITION' }])
  })

  test('fires for a parked message', () => {
    const bench = new ShardBench([online])
    bench.work({ alertSettings: settingsOf(ruleOf({ condition: { kind: 'dead_letter' } })) })
    expect(told(bench.apply([telemetry('a', 1, 'no json')]))).toEqual(['alert.fired'])
  })
})

test('reading the log again decides nothing twice and goes on from the saved state', () => {
  const rule = ruleOf({ for_sec: 10, keep_firing_for_sec: 5 })
  const settings = settingsOf(rule)
  const bench = new ShardBench([online])
  bench.work({ alertSettings: settings })
  const entries = [
    bench.entry(1, [telemetry('a', 1_000, '{"t":11}')]),
    bench.entry(2, [telemetry('a', 20_000, '{"t":12}')]),
    bench.entry(3, [telemetry('a', 21_000, '{"t":5}')]),
  ]
  bench.work({ entries: entries.slice(0, 1) })
  const fired = bench.work({ sweep: at(11_001) })
  expect(told(fired)).toEqual(['alert.fired'])
  bench.work({ entries: entries.slice(1) })
  const parts = Object.fromEntries(
    fired.proposal.parts.map(({ part, bytes }): [DevicePart, Uint8Array] => [part, bytes]),
  )
  const again = new ShardBench([], { applied: 3 })
  again.shard.run({
    kind: 'load',
    devices: [{ device: online, vitals: undefined, parts, commands: [] }],
    applied: [],
    alertSettings: settings,
    now: at(22_000),
  })
  const replayed = again.work({ entries })
  expect([told(replayed), noticesOf(replayed)]).toEqual([[], []])
  expect(told(again.work({ sweep: at(25_900) }))).toEqual([])
  const over = again.work({ sweep: at(26_001) })
  expect(noticesOf(over)).toMatchObject([{ event: 'resolved', alertId: noticesOf(fired)[0]?.alertId }])
})

test('after lost time, counts for the fleet are not valid before the next sweep', () => {
  const bench = new ShardBench([online])
  const isCaughtUp = () => bench.ask({ kind: 'fleet_counts', sums: [] }).isCaughtUp
  bench.work({ alertSettings: settingsOf(ruleOf()), sweep: at(1_000) })
  expect(isCaughtUp()).toBe(true)
  bench.work({ forgiveAt: at(60_000) })
  expect(isCaughtUp()).toBe(false)
  bench.work({ sweep: at(61_000) })
  expect(isCaughtUp()).toBe(true)
})

describe('the figures of a shard', () => {
  test('are sent when they change, and count each judgement once', () => {
    const bench = new ShardBench([online])
    const none = { info: 0, warning: 0, critical: 0 }
    const quiet = { pending: none, firing: none, recovering: none }
    expect(bench.work({ alertSettings: settingsOf(ruleOf()) }).alerts).toEqual(quiet)
    expect(bench.apply([telemetry('a', 1, '{"t":9}')]).alerts).toBeUndefined()
    const before = bench.work({ sweep: at(2) }).counts.evaluations
    expect(before).toBe(1)
    expect(bench.apply([telemetry('a', 3, '{"t":9.5}')]).counts.evaluations).toBe(0)
    expect(bench.apply([telemetry('a', 4, '{"t":11}')]).counts.evaluations).toBe(1)
    const settled = bench.work({ settle: true })
    expect(settled.alerts).toEqual({ ...quiet, firing: { ...none, warning: 1 } })
    expect(bench.work({}).alerts).toBeUndefined()
  })
})
