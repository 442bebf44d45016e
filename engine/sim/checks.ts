// Checks what must be true at the end, when all faults have ended.
import { isDeepStrictEqual } from 'node:util'
import { type DeviceId, Millis } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { AGGREGATES_DEFAULT, INTERVAL_SECONDS, type Interval } from '../../schemas/vocabulary.ts'
import { isFlapping } from '../domain/device/flapping.ts'
import { byAge, HISTORY_KINDS, writtenRow } from '../domain/history/row.ts'
import { gridOf } from '../domain/telemetry/grid.ts'
import type { Alerting } from './alerting.ts'
import type { BaseWorld } from './base-world.ts'
import { checkBroadcasts, checkControl } from './control-checks.ts'
import { keyOf } from './ledger.ts'
import { HEARTBEAT_MS, type SimulatedDevice, type Tally } from './simulated-device.ts'

const ANSWER_MS = 8_000
/** A channel that fails is tried once a minute. */
const ALERTS_TOLD_MS = 90_000
/** Reasons for refusing a message that a gateway sent for a device that is not its sub-device or not registered yet. */
const FORGED: ReadonlySet<string> = new Set(['NOT_ITS_GATEWAY', 'UNKNOWN_DEVICE'])
/** Reasons for refusing messages that devices of the simulation send without counting them. */
const UNCOUNTED: ReadonlySet<string> = new Set(['FORBIDDEN_TOPIC', 'UNKNOWN_COMMAND'])
/** Reasons for refusing a message that a gateway sent for another device. */
const SENDERS: ReadonlySet<string> = new Set([...FORGED, 'DEVICE_DECOMMISSIONED'])

export async function checkAtRest(world: BaseWorld, alerting: Alerting | undefined): Promise<void> {
  for (const device of world.devices) {
    if (world.promised.get(device.id)?.isRegistered !== true) continue
    // The device was not decommissioned, even if a caller tried it, so none of its messages may be missing.
    if (world.store.devices.get(device.id)?.status !== 'decommissioned')
      device.mayBeGoneFrom = Number.POSITIVE_INFINITY
    checkMessages(world, device)
    checkGone(world, device)
    checkStamped(world, device)
    await checkParked(world, device)
    await checkRecord(world, device)
    await checkHistory(world, device)
    await checkLog(world, device)
    await checkSnapshot(world, device)
    await checkControl(world, device, (question) => answered(world, question))
  }
  await checkBroadcasts(world, (question) => answered(world, question))
  await checkBuckets(world)
  await checkPresence(world)
  if (alerting !== undefined) await checkAlerts(world, alerting)
}

/** Every acknowledged message must be stored, at most as often as it was sent. Messages that were sent once must be stored
 *  in the order in which they were sent. */
function checkMessages(world: BaseWorld, device: SimulatedDevice): void {
  const stored = world.rows.of(device.id, 'n').map(({ value }) => value)
  const counts = new Map<number, number>()
  for (const n of stored) counts.set(n, (counts.get(n) ?? 0) + 1)
  for (const { n, times, isAcked, at } of device.sent) {
    const count = counts.get(n) ?? 0
    if (isAcked && count === 0 && at < device.mayBeGoneFrom)
      world.violate(`${device.id} message ${n} was acknowledged and is lost`)
    if (count > times)
      world.violate(`${device.id} message ${n} was sent ${times} times and is stored ${count} times`)
  }
  const once = new Set(device.sent.filter(({ times }) => times === 1).map(({ n }) => n))
  const inOrder = stored.filter((n) => once.has(n))
  if (inOrder.some((n, i) => n < (inOrder[i - 1] ?? 0)))
    world.violate(`${device.id} messages are out of order: ${inOrder.join(' ')}`)
}

/** No message of a device may be stored after it was decommissioned. */
function checkGone(world: BaseWorld, { id }: SimulatedDevice): void {
  const { status, statusSince } = world.store.devices.get(id) ?? {}
  if (status !== 'decommissioned' || statusSince === undefined) return
  const last = world.rows.of(id, 'n').at(-1)?.at ?? 0
  if (Math.floor(last / 1000) > statusSince + world.reorderedMsMax)
    world.violate(`${id} was decommissioned at ${statusSince} but has a message stored at ${last}`)
}

/** There must be one point per time, with the value that was sent last. */
function checkStamped(world: BaseWorld, device: SimulatedDevice): void {
  const stored = new Map(world.rows.of(device.id, 's').map(({ at, value }) => [at, value]))
  for (const { at, acked, open, overtaken, sentAt } of device.stamped.values()) {
    if (sentAt >= device.mayBeGoneFrom) continue
    const value = stored.get(at * 1000)
    const mayBe = acked === undefined ? [undefined, ...open] : [acked, ...open]
    // A node may be unable to write a message for a while, so that another node's later message gets ahead of it.
    if (world.reorderedMsMax > 0) mayBe.push(...overtaken)
    if (!mayBe.includes(value))
      world.violate(`${device.id} at ${at} is ${value}, not one of ${mayBe.join(' ')}`)
  }
}

/** A refused message must have a dead letter for each time that the broker acknowledged it. */
async function checkParked(world: BaseWorld, device: SimulatedDevice): Promise<void> {
  const page = { offset: 0, limit: 10_000, deviceId: device.id }
  const { letters: all } = await world.store.deadLetters(page)
  const letters = all.filter(({ reason }) => !SENDERS.has(reason) && !UNCOUNTED.has(reason))
  const poison = letters.filter(({ reason }) => reason === 'SHARD_CRASH').length
  const isGone = device.mayBeGoneFrom < Number.POSITIVE_INFINITY
  const compare = (what: string, parked: number, { sent, acked }: Tally) => {
    if ((parked < acked && !isGone) || parked > sent)
      world.violate(`${device.id} has ${parked} ${what} dead letters; ${sent} sent, ${acked} acknowledged`)
  }
  compare('poison', poison, device.poison)
  compare('nonsense', letters.length - poison, device.nonsense)
  compare('forged', all.filter(({ reason }) => FORGED.has(reason)).length, device.forged)
  if (world.rows.of(device.id, 'forged').length > 0) world.violate(`${device.id} has forged messages`)
}

async function checkRecord(world: BaseWorld, device: SimulatedDevice): Promise<void> {
  const asked = world.time.now()
  const view = await answered(world, world.process?.engine.view(device.id))
  checkFlapping(world, device, { asked, flapping: view?.flapping })
  const saved = world.store.devices.get(device.id)
  if (!isDeepStrictEqual(view?.device, saved)) world.violate(`${device.id} differs from its saved record`)
  const promised = world.promised.get(device.id)
  const edits = Number(saved?.metadata['edits'] ?? 0)
  if (promised !== undefined && edits < promised.edits)
    world.violate(`${device.id} lost an edit: ${edits} of ${promised.edits}`)
  if (promised?.isDecommissioned === true && (saved?.status !== 'decommissioned' || device.isConnected()))
    world.violate(
      `${device.id} should be decommissioned but is ${saved?.status}, connected ${device.isConnected()}`,
    )
}

/** Flapping must follow from all connects in the log, even across restarts. */
function checkFlapping(
  world: BaseWorld,
  { id }: SimulatedDevice,
  { asked, flapping }: { readonly asked: Millis; readonly flapping: boolean | undefined },
): void {
  const connects = world.ledger.connectsOf(id)
  const { skewMs, time } = world
  const answered = [asked - skewMs, time.now() + skewMs].map((now) => isFlapping(connects, Millis(now)))
  // Flapping may have ended between question and answer, or according to the clock of the answering node.
  if (flapping !== undefined && !answered.includes(flapping))
    world.violate(`${id} has flapping ${flapping}, but its connects are ${JSON.stringify(connects)}`)
}

/** ClickHouse must have each saved row of a device's history once. Each move must begin with the status to which the
 *  previous one led. */
async function checkHistory(world: BaseWorld, device: SimulatedDevice): Promise<void> {
  const kinds = HISTORY_KINDS.filter((kind) => kind !== 'log')
  const rows = (await world.process?.engine.history({ deviceId: device.id, kinds, limit: 1_000_000 })) ?? []
  const saved = [...world.ledger.historyOf(device.id)].sort(byAge)
  const found = rows.map(writtenRow)
  const foundKeys = new Set(found.map(keyOf))
  const promised = saved.filter((row) => foundKeys.has(keyOf(row)) || world.ledger.isSure(row))
  if (!isDeepStrictEqual(found, promised))
    world.violate(`${device.id} has ${rows.length} rows of history, but ${promised.length} were saved`)
  // Moves by silence are not in the log, so a store that was put back does not repeat them.
  if (world.wasSetBack) return
  let status: unknown = null
  // Rows are compared in the order of the saves, because clocks of nodes differ.
  for (const { kind, body: text } of world.ledger.historyOf(device.id)) {
    if (kind !== 'status') continue
    const body = JSON.parse(text) as JsonObject
    if (body['from'] !== status)
      world.violate(`${device.id} moves from ${body['from']} after it was ${status}`)
    status = body['to']
  }
  const now = world.store.devices.get(device.id)?.status
  if (status !== now) world.violate(`${device.id} is ${now}, but its history ends with ${status}`)
}

/** A log line must be stored once, and the lines of one message in their order. */
async function checkLog(world: BaseWorld, device: SimulatedDevice): Promise<void> {
  const query = { deviceId: device.id, kinds: ['log'], limit: 1_000_000 } as const
  const rows = (await world.process?.engine.history(query)) ?? []
  const lines = rows.map(({ body }) => Number(String(body['message']).slice(1)))
  for (const { n, isAcked, at } of device.logged) {
    const count = lines.filter((line) => line === n).length
    if (count > 1 || (count === 0 && isAcked && at < device.mayBeGoneFrom))
      world.violate(`${device.id} logged line ${n}, acknowledged ${isAcked}, and it is stored ${count} times`)
  }
  for (const [i, { version }] of rows.entries()) {
    const before = rows[i - 1]
    if (before?.version === version && (lines[i - 1] ?? 0) < (lines[i] ?? 0))
      world.violate(`${device.id} has line ${lines[i]} of its log after line ${lines[i - 1]}`)
  }
}

/** The snapshot must show the newest point by time. */
async function checkSnapshot(world: BaseWorld, device: SimulatedDevice): Promise<void> {
  const snapshot = await answered(world, world.process?.engine.snapshot(device.id))
  const newest = world.rows.of(device.id, 'n').at(-1)
  if (newest !== undefined && snapshot?.data['n'] !== newest.value)
    world.violate(
      `${device.id} shows n ${JSON.stringify(snapshot?.data['n'])}, but ${newest.value} is stored`,
    )
}

/** Buckets must be exact before and after they are settled, with late points included (R11). */
async function checkBuckets(world: BaseWorld): Promise<void> {
  const hour = 3_600_000
  await compareBuckets(world)
  world.time.jump(2 * hour)
  for (let round = 0; round < 3; round++) {
    const settling = world.settle()
    await world.time.advance(2_000)
    await settling
  }
  await compareBuckets(world)
}

async function compareBuckets(world: BaseWorld): Promise<void> {
  const now = world.time.now()
  const from = Millis(now - 6 * 3_600_000 + 12_345)
  for (const device of world.devices)
    for (const metric of ['n', 's'])
      for (const interval of ['1m', '1h'] as const) {
        const query = { deviceId: device.id, metric, from, to: now, interval }
        const [found] = (await world.process?.engine.series(seriesQuery(query))) ?? []
        const got = found?.buckets ?? []
        const want = bruteForce(world, query)
        const shown = got.map(({ time, min, max, count, last }) => ({ time, min, max, count, last }))
        if (!isDeepStrictEqual(shown, want))
          world.violate(
            `${device.id} ${metric} ${interval} buckets: ${JSON.stringify(shown)}, not ${JSON.stringify(want)}`,
          )
      }
}

interface SeriesCheck {
  readonly deviceId: DeviceId
  readonly metric: string
  readonly from: Millis
  readonly to: Millis
  readonly interval: Interval
}

const seriesQuery = ({ deviceId, metric, from, to, interval }: SeriesCheck) => ({
  deviceIds: [deviceId],
  by: 'device' as const,
  metrics: [metric],
  from,
  to,
  grid: gridOf({ interval, from, to }),
  aggregates: AGGREGATES_DEFAULT,
})

function bruteForce(world: BaseWorld, { deviceId, metric, from, to, interval }: SeriesCheck) {
  const size = INTERVAL_SECONDS[interval] * 1000
  const buckets = new Map<number, number[]>()
  for (const { at, value } of world.rows.of(deviceId, metric)) {
    if (at < from * 1000 || at >= to * 1000) continue
    const start = Math.floor(at / 1000 / size) * size
    buckets.set(start, [...(buckets.get(start) ?? []), value])
  }
  return [...buckets].map(([time, values]) => ({
    time,
    min: Math.min(...values),
    max: Math.max(...values),
    count: values.length,
    last: values.at(-1),
  }))
}

/** Waits until failed notifications were tried again, and then checks all alerts. */
async function checkAlerts(world: BaseWorld, alerting: Alerting): Promise<void> {
  for (let waited = 0; waited < ALERTS_TOLD_MS; waited += 10_000) await talk(world)
  const query = { states: ['firing', 'recovering'], limit: 1_000 } as const
  const found = await answered(world, world.process?.engine.alerts.list(query))
  if (alerting.isReady) alerting.checkOpen(found?.alerts ?? [])
  alerting.checkAtRest()
}

/** A device that speaks must be online. A device that fell silent must be offline after the timeout. */
async function checkPresence(world: BaseWorld): Promise<void> {
  const talking = talkers(world)
  for (let waited = 0; waited < HEARTBEAT_MS + 2_000; waited += 10_000) await talk(world)
  for (const device of world.devices) {
    const status = world.store.devices.get(device.id)?.status
    if (status === undefined || status === 'decommissioned' || status === 'provisioning') continue
    const expected = talking.includes(device) ? 'online' : 'offline'
    // A device stays in `error` if it fell silent before it could report that its fault is over.
    if (status === 'error' && expected === 'offline' && device.isFaulty) continue
    if (status !== expected) world.violate(`${device.id} is ${status}, not ${expected}`)
  }
}

function talkers(world: BaseWorld): readonly SimulatedDevice[] {
  return world.devices.filter((device) => device.isSteady && device.isConnected())
}

/** Advances time by ten seconds, in which steady devices go on speaking. */
async function talk(world: BaseWorld): Promise<void> {
  // The messages of its sub-devices keep a gateway online.
  for (const device of talkers(world)) if (device.subDevices.length === 0) device.publish()
  await world.time.advance(10_000)
}

/** Advances time while it waits, because the engine answers only if time passes. */
async function answered<T>(world: BaseWorld, question: Promise<T> | undefined): Promise<T | undefined> {
  let isOver = false
  const answer = question
    ?.catch((error: unknown) => {
      world.violate(`a question was not answered: ${String(error)}`)
      return undefined
    })
    .finally(() => {
      isOver = true
    })
  for (let waited = 0; waited < ANSWER_MS && !isOver; waited += 250) await world.time.advance(250)
  return answer
}
