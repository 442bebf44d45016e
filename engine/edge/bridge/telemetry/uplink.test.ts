import { expect, test } from 'vitest'
import type { JsonObject } from '../../../../schemas/json.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { uplinkRoute } from '../testing/routes.ts'
import { Uplink } from './uplink.ts'

function open(about: string) {
  const clock = new FakeClock()
  const sent: JsonObject[] = []
  const route = uplinkRoute(`ros_topic: /x, mqtt_topic: telemetry, direction: ros_to_mqtt, ${about}`)
  const uplink = new Uplink(route, clock, ({ body: { timestamp, ...values } }) => sent.push(values))
  return { clock, uplink, sent }
}

test('the newest message is sent at the end of each interval', () => {
  const { clock, uplink, sent } = open('throttle_hz: 10')
  for (let v = 0; v < 25; v++) {
    uplink.take({ v, w: 0 }, 50)
    clock.pass(10)
  }
  clock.pass(1_000)
  expect(sent.map(({ v }) => v)).toEqual([0, 9, 19, 24])
})

test('only messages that differ from the last sent one are sent', () => {
  const { uplink, sent } = open('min_change: { v: 1 }')
  for (const v of [0, 0.5, 0.9, 1, 1.5, 0]) uplink.take({ v, mode: 'idle' }, 50)
  uplink.take({ v: 0, mode: 'moving' }, 50)
  expect(sent).toEqual([
    { v: 0, mode: 'idle' },
    { v: 1, mode: 'idle' },
    { v: 0, mode: 'idle' },
    { v: 0, mode: 'moving' },
  ])
})

test('messages that are too large or empty are dropped and counted, but still end a silence', () => {
  const { clock, uplink, sent } = open('max_bytes: 100')
  clock.pass(5_000)
  uplink.take({ v: 1, w: 1 }, 101)
  uplink.take({ v: null, w: null }, 100)
  uplink.refuse()
  uplink.take({ v: 1, w: 1 }, 100)
  expect(sent).toHaveLength(1)
  clock.pass(5_000)
  expect(uplink.status()).toEqual({ hz: 0.4, age_sec: 5, dropped: 3, stale: 0 })
  clock.pass(10_000)
  expect(uplink.status()).toEqual({ hz: 0, age_sec: 15, dropped: 3, stale: 0 })
})

test('binary values that are left out of a message are counted', () => {
  const { uplink, sent } = open('max_bytes: 1000')
  uplink.take({ width: 2, depth: 1, data: Array(100).fill(7), mask: 'QUJD'.repeat(100) }, 900)
  expect(sent).toEqual([{ width: 2, depth: 1 }])
  expect(uplink.status()).toMatchObject({ dropped: 2 })
})

test('a message ends a silence once', () => {
  const { clock, uplink } = open('timeout_sec: 30')
  clock.pass(30_000)
  uplink.checkForSilence()
  expect(uplink.status()).toMatchObject({ stale: 1 })
  expect([uplink.take({ v: 1, w: 1 }, 50), uplink.take({ v: 1, w: 1 }, 50)]).toEqual([true, false])
  expect(uplink.status()).toMatchObject({ stale: 0 })
})

test('messages of the same millisecond have different times', () => {
  const clock = new FakeClock()
  const times: unknown[] = []
  const route = uplinkRoute('ros_topic: /x, mqtt_topic: telemetry, direction: ros_to_mqtt')
  const uplink = new Uplink(route, clock, ({ body }) => times.push(body['timestamp']))
  for (const waitMs of [0, 0, 1, 0]) {
    uplink.take({ v: 1, w: 1 }, 50)
    clock.pass(waitMs)
  }
  expect(times).toEqual([
    '2026-01-01T00:00:00.000Z',
    '2026-01-01T00:00:00.000001Z',
    '2026-01-01T00:00:00.000002Z',
    '2026-01-01T00:00:00.001Z',
  ])
})

test('setting the clock of the machine neither begins a silence nor hides one', () => {
  const { clock, uplink, sent } = open('timeout_sec: 30, throttle_hz: 1')
  uplink.take({ v: 1, w: 1 }, 50)
  clock.setBy(3_600_000)
  expect(uplink.checkForSilence()).toBeUndefined()
  expect(uplink.status()).toMatchObject({ age_sec: 0, stale: 0 })
  clock.setBy(-7_200_000)
  clock.pass(1_000)
  uplink.take({ v: 2, w: 1 }, 50)
  expect(sent).toHaveLength(2)
  clock.setBy(-3_600_000)
  clock.pass(30_000)
  expect(uplink.checkForSilence()).toEqual({ remedy: 'subscribe', began: true })
})
