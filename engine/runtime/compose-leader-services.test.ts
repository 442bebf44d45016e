// After the system clock was set back, and where another node's clock is ahead, the clock that stamps messages is ahead of
// the system clock.
import { expect, test } from 'vitest'
import { BroadcastId, ChannelId, Millis } from '../../schemas/ids.ts'
import { MemoryBroker } from '../adapters/broker/testing/memory.ts'
import { MemoryStore } from '../adapters/store/testing/memory.ts'
import { encodeNotice, noticeKey } from '../domain/alert/notice.ts'
import { createRule } from '../domain/alert/rule.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import { partitionOf } from '../domain/partition.ts'
import type { HttpOut } from '../ports/http-out.ts'
import { NO_SAVE } from '../ports/store.ts'
import { StandingTime } from '../testing/standing-time.ts'
import { aNotice, channelSettings } from './alerts/testing/notifier-world.ts'
import { composeLeaderServices } from './compose-leader-services.ts'
import { deviceOf, START } from './shard/testing/items.ts'

type LeaderPorts = Parameters<typeof composeLeaderServices>[1]

const HOUR_MS = 3_600_000

/** The services of a leader whose system clock and stamping clock are independent of each other. */
function compose(ports: object = {}) {
  const store = new MemoryStore({ partitionOf })
  const log = new StandingTime(START)
  const system = { at: START as number }
  const services = composeLeaderServices([], {
    ...{ store, schedule: log, broker: new MemoryBroker(), dice: () => 0.5 },
    clock: { now: () => Millis(system.at), ticks: log.ticks },
    logNow: log.now,
    ota: { library: {}, desk: () => ({}) },
    nodes: { ask: async () => [] },
    outbound: {},
    signal: () => {},
    metrics: { alerts: { moved: () => {} } },
    feed: { publish: () => {} },
    failed: (error: unknown) => expect.unreachable(String(error)),
    ...ports,
    // The tested services use nothing else.
  } as unknown as LeaderPorts)
  return { services, store, log, system }
}

test('the time limit of a broadcast counts by the clock that stamps messages, which devices go by', async () => {
  const requests: DeviceRequest[] = []
  const { services, store, log, system } = compose({
    submit: async (_: unknown, request: DeviceRequest) => {
      requests.push(request)
      return { kind: 'done', view: {} }
    },
  })
  await store.save({ ...NO_SAVE, changed: [deviceOf('a', { group: 'hall' })] })
  system.at -= HOUR_MS
  const stop = { broadcastId: BroadcastId('b1'), group: 'hall', command: 'stop', by: 'usr_1' } as const
  const answer = await services.broadcasts.create({ ...stop, priority: 'critical' })
  expect(answer).toMatchObject({ broadcast: { createdAt: log.now() } })
  expect(requests).toMatchObject([{ wish: { notBefore: log.now() } }])
})

test('rules about the fleet are judged as often after the clock was set back', async () => {
  const condition = {
    kind: 'fleet_metric',
    metric: 'v',
    agg: 'avg',
    op: '>',
    value: 1,
    every_sec: 10,
  } as const
  const made = createRule(
    { name: 'hot', target: { type: 'all' }, condition },
    { id: 'rul_1', by: 'usr_1', now: START },
  )
  if (made.kind === 'mistakes') throw new Error('a mistake')
  const asked: number[] = []
  const { services, log, system } = compose({
    alertBook: { settings: { revision: 1, rules: [made.rule], silences: [] } },
    nodes: {
      ask: async ({ sums }: { readonly sums: readonly unknown[] }) => {
        asked.push(sums.length)
        return { isCaughtUp: true, rules: [], open: 0, overflowing: 0 }
      },
    },
  })
  await services.fleetAlerts.poll()
  system.at -= HOUR_MS
  log.at += 10_000
  await services.fleetAlerts.poll()
  expect(asked).toEqual([1, 1])
})

test('a notification is tried again as soon after the clock was set back, with the time of the receiver', async () => {
  const sent: (string | undefined)[] = []
  let attempted = () => {}
  const http: HttpOut = {
    judge: async () => ({ kind: 'allowed' }),
    send: async ({ headers }) => {
      sent.push(headers['webhook-timestamp'])
      attempted()
      return { kind: 'answered', status: 503, retryAfterSec: undefined }
    },
  }
  const links = { device: () => 'https://x/device', alert: () => 'https://x/alert' }
  const { services, store, log, system } = compose({ outbound: { http, links, userAgent: 'fleet' } })
  const { notifications } = services
  await notifications.open()
  const id = ChannelId('ch_1')
  await notifications.call({ op: 'create', id, by: 'usr_1', settings: channelSettings(id) })
  const notice = aNotice()
  await store.save({ ...NO_SAVE, notices: [{ key: noticeKey(notice), bytes: encodeNotice(notice) }] })
  const attempt = () =>
    new Promise<void>((resolve) => {
      attempted = resolve
      log.at += 1_000
    })
  await attempt()
  // The answer is noted.
  await new Promise((resolve) => setImmediate(resolve))
  system.at -= HOUR_MS
  await attempt()
  notifications.close()
  expect(sent).toEqual([START, START - HOUR_MS].map((at) => String(at / 1_000)))
})
