import { expect, test } from 'vitest'
import { foldStorms, groupAlerts } from './alert-groups.ts'

const alert = (id: string, more: object = {}) => ({
  ...{
    alert_id: id,
    rule_id: 'rul_1',
    rule_name: 'hot',
    device_id: id,
    group: 'eu',
    group_key: 'rule:rul_1',
  },
  ...{ severity: 'warning' as const, fired_at: '2026-03-01T08:00:00Z', started_at: '2026-03-01T07:00:00Z' },
  ...more,
})

test('a storm is one group with its devices, its worst severity and its beginning', () => {
  const [storm, ...others] = groupAlerts(
    [alert('a'), alert('b', { severity: 'critical', fired_at: '2026-03-01T07:30:00Z' }), alert('a')],
    'storm',
  )
  expect(others).toEqual([])
  expect(storm).toMatchObject({ key: 'rule:rul_1', severity: 'critical', deviceCount: 2, ruleNames: ['hot'] })
  expect(storm?.firstAt).toBe('2026-03-01T07:30:00Z')
  expect(storm?.ids).toEqual(['a', 'b', 'a'])
})

test('groups come worst first, and alerts of the whole fleet have a group of their own', () => {
  const groups = groupAlerts(
    [alert('a'), alert('b', { device_id: null, severity: 'critical' }), alert('c', { alert_id: null })],
    'device',
  )
  expect(groups.map(({ key }) => key)).toEqual(['', 'a', 'c'])
  // What is pending is no alert yet, so nothing can be done to it.
  expect(groups.at(-1)?.ids).toEqual([])
})

test('a storm is one row where its first alert stands, and a few alerts are no storm', () => {
  const few = ['a', 'b'].map((id) => alert(id, { group_key: 'rule:rul_2' }))
  const storm = ['c', 'd', 'e', 'f', 'g'].map((id) => alert(id))
  const rows = foldStorms([few[0], storm[0], few[1], ...storm.slice(1)].flatMap((one) => one ?? []))
  expect(rows.map(({ alert: { alert_id }, storm: of }) => [alert_id, of?.ids.length])).toEqual([
    ['a', undefined],
    ['c', 5],
    ['b', undefined],
  ])
})
