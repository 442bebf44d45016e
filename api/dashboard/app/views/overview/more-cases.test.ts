import { describe, expect, test } from 'vitest'
import {
  alertCases,
  commandCases,
  issueCases,
  letterCases,
  rolloutCases,
  serviceCases,
  worstFirst,
} from './more-cases.ts'
import { BARS, barsOf, changeLately } from './trend.ts'

type Alerts = Parameters<typeof alertCases>[0]
type Rollouts = Parameters<typeof rolloutCases>[0]

const NOW = Date.parse('2026-03-01T12:00:00Z')
const alert = (rule: string, device: string, severity: string, minute: number) => ({
  rule_id: rule,
  rule_name: `rule <${rule}>`,
  device_id: device,
  severity,
  started_at: new Date(NOW + minute * 60_000).toISOString(),
})

describe('cases beside the devices', () => {
  test('alerts are one case for each rule, with the device that was first; what was not sent is counted', () => {
    const data = [
      alert('hot', 'b', 'warning', 2),
      alert('hot', 'a', 'critical', 1),
      alert('low', 'c', 'warning', 3),
    ]
    // Only these fields are read.
    const cases = alertCases({ data, total: 10 } as unknown as Alerts)
    expect(cases.map(({ sentence, severity, firstId }) => [sentence, severity, firstId])).toEqual([
      ['rule <hot>: 2 alerts', 'critical', 'a'],
      ['rule <low>: 1 alert', 'warning', 'c'],
      ['7 more alerts are open', 'warning', undefined],
    ])
    expect(cases[0]?.href).toBe('/alerts?rule=hot')
  })

  test('a rollout waits, runs or has failed lately; one that failed long ago is over', () => {
    const rollout = (status: string, finished: string | null) => ({
      deployment_id: `dep_${status}`,
      status,
      name: null,
      firmware_version: '1.4.2',
      progress: { total: 50, succeeded: 31, failed: 2 },
      started_at: '2026-03-01T11:00:00Z',
      finished_at: finished,
    })
    const all = [
      rollout('paused', null),
      rollout('in_progress', null),
      rollout('failed', '2026-03-01T10:00:00Z'),
      rollout('aborted', '2026-02-20T10:00:00Z'),
    ]
    const cases = worstFirst(rolloutCases(all as unknown as Rollouts, NOW))
    expect(cases.map(({ sentence, severity }) => [severity, sentence])).toEqual([
      ['critical', 'Rollout 1.4.2 has failed'],
      ['warning', 'Rollout 1.4.2 is paused'],
      ['info', 'Rollout 1.4.2 is at 62%'],
    ])
  })

  test('dead letters are one case for each reason, and lead to it', () => {
    const [only] = letterCases([
      {
        reason: 'MALFORMED_STATUS',
        count: 3,
        devices: 1,
        oldest_at: '2026-03-01T10:00:00Z',
        newest_at: '2026-03-01T11:00:00Z',
      },
    ])
    expect(only?.sentence).toBe('3 messages could not be processed: MALFORMED_STATUS')
    expect(only?.href).toBe('/system/dead-letters?reason=MALFORMED_STATUS')
  })
})

describe('cases of the last hour and of now', () => {
  type Commands = Parameters<typeof commandCases>[1]
  type Devices = Parameters<typeof issueCases>[0]
  const told = (cases: readonly { readonly sentence: string }[]) => cases.map(({ sentence }) => sentence)

  test('failed commands are one case for each name, and those that were not read are counted', () => {
    const commands = ['stop', 'move', 'stop'].map((command) => ({ command }))
    const cases = commandCases(5, commands as unknown as Commands)
    expect(told(cases)).toEqual([
      'stop: 2 commands failed in the last hour',
      'move: 1 command failed in the last hour',
      '2 commands failed in the last hour',
    ])
    expect(cases[0]?.href).toBe('/commands?status=failed,rejected,expired&command=stop')
    expect(commandCases(0, [])).toEqual([])
  })

  test('devices with an error are one case for each issue; without one they are told by their number', () => {
    const devices = [
      { issues: ['motor'] },
      { issues: [] },
      { issues: ['motor', 'lidar'] },
      { issues: ['lidar'] },
    ]
    expect(told(issueCases(devices as unknown as Devices, 6))).toEqual([
      '2 devices report the error motor',
      '1 device reports the error lidar',
      '3 devices report an error',
    ])
  })

  test('a degraded service is a case that names what does not work', () => {
    const dependencies = [
      { name: 'log', ok: true, detail: 'appending' },
      { name: 'telemetry', ok: false, detail: 'not answering; rows wait in the log' },
    ]
    expect(told(serviceCases({ status: 'degraded', dependencies }))).toEqual([
      'The service is degraded. Not working: telemetry',
    ])
    expect(serviceCases({ status: 'ready', dependencies })).toEqual([])
  })
})

describe('how a status went', () => {
  const moment = (minutesAgo: number, offline: number) => ({
    time: new Date(NOW - minutesAgo * 60_000).toISOString(),
    by_status: { offline },
  })

  test('the change is the one since a quarter of an hour ago, and unknown if nobody counted then', () => {
    const trend = [moment(60, 9), moment(20, 4), moment(5, 7)]
    expect(changeLately(trend, 'offline', { count: 1, nowMs: NOW })).toBe(-3)
    expect(changeLately([moment(60, 9), moment(5, 7)], 'offline', { count: 1, nowMs: NOW })).toBeUndefined()
    expect(changeLately([], 'offline', { count: 1, nowMs: NOW })).toBeUndefined()
  })

  test('each half hour has its last count, and a gap stays a gap', () => {
    const bars = barsOf([moment(25, 1), moment(5, 2), moment(65, 3), moment(2000, 8)], 'offline', NOW)
    expect(bars).toHaveLength(BARS)
    expect(bars.slice(-3)).toEqual([3, undefined, 2])
    expect(bars.filter((value) => value !== undefined)).toHaveLength(2)
  })
})
