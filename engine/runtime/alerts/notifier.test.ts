import { beforeEach, describe, expect, test } from 'vitest'
import { AlertId, ChannelId, RuleId } from '../../../schemas/ids.ts'
import type { Notice } from '../../domain/alert/notice.ts'
import { answered, NotifierWorld, OK } from './testing/notifier-world.ts'

const SEC = 1_000
const MINUTE = 60 * SEC

let world: NotifierWorld

beforeEach(async () => {
  world = new NotifierWorld()
  await world.open()
})

const fired = (id: string, more: Partial<Notice> = {}) => world.at({ alertId: AlertId(id), ...more })
const resolved = (id: string, more: Partial<Notice> = {}) =>
  world.at({ alertId: AlertId(id), event: 'resolved', revision: 2, ...more })

describe('who is told', () => {
  test('a rule without channels tells the default channels, and a rule with channels tells those', async () => {
    await world.channel('ch_default')
    await world.channel('ch_other', { isDefault: false })
    await world.notice([
      fired('alt_1'),
      fired('alt_2', { channels: [ChannelId('ch_other')] }),
      fired('alt_3', { channels: [] }),
    ])
    await world.advance(SEC)
    expect(world.received.map(({ url, alertIds }) => [url, ...alertIds])).toEqual([
      ['https://ch_default.example.com/', 'alt_1'],
      ['https://ch_other.example.com/', 'alt_2'],
    ])
  })

  test('filters for severity and group decide, by the highest severity of the episode', async () => {
    await world.channel('ch_1', { severity: ['critical'], group: 'north' })
    const south = { id: 'x', name: 'x', type: 'x', group: 'northern' }
    await world.notice([
      fired('alt_low'),
      fired('alt_high', { highestSeverity: 'critical' }),
      fired('alt_south', { highestSeverity: 'critical', device: south }),
    ])
    await world.advance(SEC)
    expect(world.told()).toEqual(['alt_high fired'])
  })

  test('neither a muted alert nor its end is told', async () => {
    await world.channel('ch_1')
    await world.notice([fired('alt_1', { suppressedBy: ['silence:sil_1'] })])
    await world.advance(SEC)
    await world.notice([resolved('alt_1')])
    await world.advance(MINUTE)
    expect(world.received).toEqual([])
  })

  test('a channel that was told that an alert fires is told of its end, whatever the rule says then', async () => {
    await world.channel('ch_1')
    await world.notice([fired('alt_1')])
    await world.advance(SEC)
    await world.crash()
    await world.notice([resolved('alt_1', { channels: [] })])
    await world.advance(SEC)
    expect(world.told()).toEqual(['alt_1 fired', 'alt_1 resolved'])
  })

  test('a channel that does not want the end is still told of the next episode', async () => {
    await world.channel('ch_1', { sendResolved: false })
    for (const id of ['alt_1', 'alt_2']) {
      await world.notice([fired(id)])
      await world.advance(SEC)
      await world.notice([resolved(id)])
      await world.advance(SEC)
    }
    expect(world.told()).toEqual(['alt_1 fired', 'alt_2 fired'])
  })

  test('an alert that resolves before anybody was told makes one message with both times', async () => {
    await world.channel('ch_1', { groupWaitSec: 10 })
    await world.notice([fired('alt_1')])
    await world.advance(5 * SEC)
    await world.notice([resolved('alt_1')])
    await world.advance(MINUTE)
    expect(world.told()).toEqual(['alt_1 resolved'])
    expect(world.received[0]?.body).toContain(
      '"fired_at":"2026-11-22T14:00:00.000Z","resolved_at":"2026-11-22T14:00:05',
    )
  })

  test('an alert that resolves while it is being sent is told in order', async () => {
    await world.channel('ch_1')
    let release = () => {}
    world.answer = () => new Promise((resolve) => (release = () => resolve(OK)))
    await world.notice([fired('alt_1')])
    await world.advance(SEC)
    world.answer = () => OK
    await world.notice([resolved('alt_1')])
    await world.advance(5 * SEC)
    expect(world.told()).toEqual(['alt_1 fired'])
    release()
    await world.advance(SEC)
    expect(world.told()).toEqual(['alt_1 fired', 'alt_1 resolved'])
  })

  test('an alert that resolves while the receiver is down makes one message once it is up again', async () => {
    const id = await world.channel('ch_1')
    world.answer = () => answered(503)
    await world.notice([fired('alt_1')])
    await world.advance(2 * SEC)
    await world.notice([resolved('alt_1')])
    world.answer = () => OK
    await world.advance(MINUTE)
    expect(world.told().at(-1)).toBe('alt_1 resolved')
    expect(world.told().filter((told) => told === 'alt_1 fired')).toHaveLength(2)
    expect((await world.deliveries(id)).map(({ event, state }) => `${event} ${state}`).sort()).toEqual([
      'fired dropped',
      'resolved delivered',
    ])
  })
})

describe('attempts', () => {
  beforeEach(async () => {
    world = new NotifierWorld({ pollMs: 500 })
    await world.open()
  })

  test('a receiver is tried six times under one id, at growing intervals', async () => {
    const id = await world.channel('ch_1')
    world.answer = () => answered(500)
    await world.notice([fired('alt_1')])
    await world.advance(30 * MINUTE)
    expect(secondsSinceFirst()).toEqual([0, 1, 11, 71, 371, 1_271])
    expect(new Set(world.received.map((received) => received.id)).size).toBe(1)
    const [delivery] = await world.deliveries(id)
    expect(delivery).toMatchObject({ state: 'failed', nextAttemptAt: undefined })
    expect(delivery?.attempts.map(({ statusCode, errorCode }) => [statusCode, errorCode])).toEqual(
      Array.from({ length: 6 }, () => [500, 'HTTP_500']),
    )
  })

  test.each([
    [301, 1],
    [400, 1],
    [404, 1],
    [408, 6],
    [425, 6],
    [429, 6],
    [502, 6],
  ])('status %i is tried %i times', async (status, tries) => {
    await world.channel('ch_1')
    world.answer = () => answered(status)
    await world.notice([fired('alt_1')])
    await world.advance(30 * MINUTE)
    expect(world.received).toHaveLength(tries)
  })

  test('Retry-After is respected', async () => {
    await world.channel('ch_1')
    world.answer = () => (world.received.length === 1 ? answered(429, 30) : OK)
    await world.notice([fired('alt_1')])
    await world.advance(2 * MINUTE)
    expect(secondsSinceFirst()).toEqual([0, 30])
  })

  test('a forbidden address is not tried again', async () => {
    const id = await world.channel('ch_1')
    world.answer = () => ({ kind: 'blocked' })
    await world.notice([fired('alt_1')])
    await world.advance(30 * MINUTE)
    expect(world.received).toHaveLength(1)
    expect(await world.deliveries(id)).toMatchObject([{ state: 'blocked' }])
  })

  test('after the last attempt the fallback channel is told, of the end as well', async () => {
    const other = await world.channel('ch_2', { isDefault: false })
    await world.channel('ch_1', { fallbackChannelId: other })
    world.answer = ({ url }) => (url.includes('ch_1') ? answered(400) : OK)
    await world.notice([fired('alt_1')])
    await world.advance(SEC)
    await world.notice([resolved('alt_1')])
    await world.advance(SEC)
    expect(world.received.map(({ url, type }) => `${new URL(url).host} ${type}`)).toEqual([
      'ch_1.example.com alert.fired',
      'ch_2.example.com alert.fired',
      'ch_2.example.com alert.resolved',
    ])
  })

  test.each([
    ['works again', 200],
    ['still fails', 400],
  ])('a fallback channel that was reminded is told of the end once, if the other %s', async (_, status) => {
    const other = await world.channel('ch_2', { isDefault: false })
    await world.channel('ch_1', { fallbackChannelId: other })
    await world.notice([fired('alt_1')])
    await world.advance(SEC)
    const fails = (first: number) => {
      world.answer = ({ url }) => (url.includes('ch_1') ? answered(first) : OK)
    }
    fails(400)
    await world.notice([fired('alt_1', { event: 'repeat', revision: 2 })])
    await world.advance(MINUTE)
    fails(status)
    await world.notice([resolved('alt_1', { revision: 3 })])
    await world.advance(MINUTE)
    expect(world.received.map(({ url, type }) => `${new URL(url).host} ${type}`).sort()).toEqual([
      'ch_1.example.com alert.fired',
      'ch_1.example.com alert.repeat',
      'ch_1.example.com alert.resolved',
      'ch_2.example.com alert.repeat',
      'ch_2.example.com alert.resolved',
    ])
  })

  test('a channel that did not take a raised severity is told of the end of what it was told before', async () => {
    await world.channel('ch_1')
    await world.notice([fired('alt_1')])
    await world.advance(SEC)
    world.answer = () => answered(400)
    await world.notice([fired('alt_1', { revision: 2, severity: 'critical', highestSeverity: 'critical' })])
    await world.advance(MINUTE)
    world.answer = () => OK
    await world.notice([resolved('alt_1', { revision: 3 })])
    await world.advance(MINUTE)
    expect(world.told()).toEqual(['alt_1 fired', 'alt_1 fired', 'alt_1 resolved'])
  })

  test('410 disables the channel, and an edit enables it again', async () => {
    const id = await world.channel('ch_1')
    world.answer = () => answered(410)
    await world.notice([fired('alt_1'), fired('alt_2', { revision: 2 })])
    await world.advance(SEC)
    world.answer = () => OK
    await world.notice([fired('alt_3')])
    await world.advance(MINUTE)
    const listed = await world.notifications.call({ op: 'list' })
    const channel = listed.kind === 'channels' ? listed.channels[0] : undefined
    expect(channel?.health).toMatchObject({ state: 'disabled', lastError: { code: 'HTTP_410' } })
    expect(world.told()).not.toContain('alt_3 fired')
    if (channel === undefined) return
    await world.notifications.call({ op: 'replace', id, settings: channel, revision: channel.revision })
    await world.notice([fired('alt_4')])
    await world.advance(SEC)
    expect(world.told()).toContain('alt_4 fired')
  })

  test('deliveries that fail at the same time are counted one by one', async () => {
    await world.channel('ch_1')
    world.answer = () => answered(400)
    await world.notice(['alt_1', 'alt_2', 'alt_3'].map((id) => fired(id)))
    await world.advance(SEC)
    expect(await world.notifications.call({ op: 'list' })).toMatchObject({
      channels: [{ health: { state: 'failing', failures: 3 } }],
    })
  })

  test('a channel that failed three times is probed once a minute and loses nothing until it works', async () => {
    await world.channel('ch_1')
    world.answer = () => answered(400)
    for (const id of ['alt_1', 'alt_2', 'alt_3']) {
      await world.notice([fired(id)])
      await world.advance(SEC)
    }
    const listed = await world.notifications.call({ op: 'list' })
    expect(listed).toMatchObject({ channels: [{ health: { state: 'failing', failures: 3 } }] })
    world.received.length = 0
    world.answer = () => answered(500)
    await world.notice(['alt_4', 'alt_5', 'alt_6'].map((id) => fired(id)))
    await world.advance(20 * MINUTE)
    expect(world.received.length).toBeGreaterThanOrEqual(19)
    expect(world.received.length).toBeLessThanOrEqual(21)
    world.received.length = 0
    world.answer = () => OK
    await world.advance(3 * MINUTE)
    expect([...world.told()].sort()).toEqual(['alt_4 fired', 'alt_5 fired', 'alt_6 fired'])
    expect(await world.notifications.call({ op: 'list' })).toMatchObject({
      channels: [{ health: { state: 'ok' } }],
    })
    expect(world.feed).toMatchObject([{ channel: { state: 'failing' } }, { channel: { state: 'ok' } }])
  })
})

describe('many at once', () => {
  test('alerts of one rule within the wait of its group make one message', async () => {
    await world.channel('ch_1', { groupWaitSec: 10, groupIntervalSec: 60 })
    const many = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => fired(`alt_${from + i}`, { groupBy: 'rule' }))
    await world.notice(many(0, 50))
    await world.advance(5 * SEC)
    await world.notice(many(50, 50))
    await world.advance(10 * SEC)
    expect(world.received).toMatchObject([{ total: 100 }])
    expect(world.received[0]?.alertIds).toHaveLength(20)
    await world.notice(many(100, 3))
    await world.advance(30 * SEC)
    expect(world.received).toHaveLength(1)
    await world.advance(30 * SEC)
    expect(world.received.map(({ total }) => total)).toEqual([100, 3])
  })

  test('critical alerts do not wait for a group', async () => {
    await world.channel('ch_1', { groupWaitSec: 10, groupIntervalSec: 60 })
    for (let n = 0; n < 3; n++) {
      await world.notice([
        fired(`alt_${n}`, { groupBy: 'rule', severity: 'critical', highestSeverity: 'critical' }),
      ])
      await world.advance(200)
    }
    expect(world.received.map(({ at }) => at < 700)).toEqual([true, true, true])
  })

  test('a channel above its rate gets one digest a minute that names the rules', async () => {
    await world.channel('ch_1', { ratePerMinute: 5 })
    const storm = Array.from({ length: 40 }, (_, i) =>
      fired(`alt_${i}`, { ruleId: RuleId(`rul_${i % 2}`), ruleName: `rule ${i % 2}` }),
    )
    await world.notice(storm)
    await world.advance(2 * MINUTE)
    const digests = world.received.filter(({ type }) => type === 'alert.digest')
    expect(digests).toHaveLength(1)
    expect(world.received.filter(({ type }) => type === 'alert.fired')).toHaveLength(5)
    expect(digests[0]).toMatchObject({ total: 35 })
    expect(digests[0]?.body).toContain(
      '"rules":[{"name":"rule 1","fired":18,"resolved":0},{"name":"rule 0","fired":17',
    )
  })

  test('a critical alert is told at once although lower severities have used up the rate', async () => {
    await world.channel('ch_1', { ratePerMinute: 2 })
    const critical = { severity: 'critical', highestSeverity: 'critical' } as const
    await world.notice([1, 2, 3].map((n) => fired(`alt_${n}`)))
    await world.advance(1 * SEC)
    await world.notice([1, 2, 3].map((n) => fired(`alt_bad_${n}`, critical)))
    await world.advance(1 * SEC)
    const told = world.received.map(({ type, alertIds }) => [type, ...alertIds])
    expect(told.filter(([type]) => type === 'alert.fired')).toEqual(
      ['alt_1', 'alt_2', 'alt_bad_1', 'alt_bad_2'].map((id) => ['alert.fired', id]),
    )
  })

  test('10 000 alerts in a second make at most 12 messages in five minutes, and none is left out', async () => {
    await world.channel('ch_1', { groupWaitSec: 10, groupIntervalSec: 60, ratePerMinute: 60 })
    const storm = Array.from({ length: 10_000 }, (_, i) => fired(`alt_${i}`, { groupBy: 'rule' }))
    for (let at = 0; at < storm.length; at += 1_000) {
      await world.notice(storm.slice(at, at + 1_000))
      await world.advance(100)
    }
    await world.advance(5 * MINUTE)
    expect(world.received.length).toBeLessThanOrEqual(12)
    expect(world.received.reduce((sum, { total }) => sum + total, 0)).toBe(10_000)
  })

  test('a full queue drops repeats first, then alerts of severity info, but never critical ones', async () => {
    await world.channel('ch_1', { groupWaitSec: 3_600 })
    const send = (count: number, name: string, more: Partial<Notice>) =>
      world.notice(Array.from({ length: count }, (_, i) => fired(`alt_${name}_${i}`, more)))
    await send(5, 'info', { severity: 'info', highestSeverity: 'info' })
    await send(5, 'repeat', { event: 'repeat' })
    await send(9_990, 'warning', { groupBy: 'rule' })
    await world.advance(5 * SEC)
    const dropped = () => world.signals.filter(({ kind }) => kind === 'notifications_dropped').length
    expect(dropped()).toBe(0)
    await send(5, 'more', { groupBy: 'rule' })
    await world.advance(SEC)
    const left = async () =>
      (await world.deliveries(ChannelId('ch_1'))).filter(({ state }) => state === 'pending')
    expect((await left()).filter(({ event }) => event === 'repeat')).toEqual([])
    expect(dropped()).toBe(5)
    await send(5, 'even', { groupBy: 'rule' })
    await world.advance(SEC)
    expect((await left()).filter(({ severity }) => severity === 'info')).toEqual([])
    await send(1, 'critical', { severity: 'critical', highestSeverity: 'critical' })
    await world.advance(SEC)
    expect(world.told()).toEqual(['alt_critical_0 fired'])
  })
})

function secondsSinceFirst(): readonly number[] {
  const [first] = world.received
  return world.received.map(({ at }) => Math.round((at - (first?.at ?? 0)) / SEC))
}
