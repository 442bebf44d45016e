// A shard owns the devices of some partitions. It applies their events one at a time in log order (R2), batch by batch. It
// decides and encodes. It does no I/O, never awaits and reads no clock.
//
// S1. An entry's position decides how it is read. Above `applied`, it is applied in full. Above `seen`, its records are
//     saved already, so only its vitals and rows are made. Below that, only its rows are: catching up with rows never
//     takes vitals back.
// S2. Settled records change only when the host settles the open proposal, which it does after saving it (R4).
// S3. Rows leave only after the proposal of their batch is settled. `covered` says how far they reach.

import { strict as assert } from 'node:assert'
import { Buffer } from 'node:buffer'
import { errorText } from '../../../schemas/error-text.ts'
import { type DeviceId, Millis, type Partition } from '../../../schemas/ids.ts'
import { ITEM, readItems } from '../../domain/bundle.ts'
import { heartbeatTimeoutOf } from '../../domain/device/heartbeat.ts'
import { LIMITS } from '../../limits.ts'
import type { Wants } from '../../ports/feed.ts'
import type { Entry } from '../../ports/log.ts'
import type { StoredDevice } from '../../ports/store.ts'
import type { Block } from '../../ports/telemetry.ts'
import { NO_WANTS } from '../feed.ts'
import { type Actor, countLetter, encodeVitals, mayPark } from './actor.ts'
import { ActorDeadlines } from './actor-deadlines.ts'
import { answer } from './answers.ts'
import type { Batch } from './batch.ts'
import { CollectedRows } from './collected-rows.ts'
import { applyDelivered } from './control-uplinks.ts'
import { emptyCounts, type MutableCounts } from './counts.ts'
import { viaOf } from './dead-letters.ts'
import { Decisions } from './decisions.ts'
import { type Incoming, isBeforeRegistration, placeOf, timeOf } from './incoming.ts'
import { begin, clearProgress, enterEntry } from './progress.ts'
import { type OpenProposal, openProposal } from './proposal.ts'
import type { Position, ShardSettings, ShardTask, WorkResult, WorkTask } from './protocol.ts'
import { raise } from './raise.ts'
import { isRepeated } from './repeats.ts'
import { isReplay, isReplayedAgain } from './replays.ts'
import { applyRequest } from './requests.ts'
import { Roster } from './roster.ts'
import { publishConnection, sessionClosed, sessionListens, sessionOpened } from './sessions.ts'
import { ShardAlerts } from './shard-alerts.ts'
import { ShardFleet } from './shard-fleet.ts'
import { isAllowedSender } from './sub-devices.ts'
import { Sweep } from './sweep.ts'
import { TakeOver } from './take-over.ts'
import { applyMessage } from './uplinks.ts'

/** Entries that were appended together are not ordered by time across partitions. An unread entry may be older than the
 *  last message read by at most this much. */
const BEHIND_MS = 5_000

export class Shard {
  readonly #settings: ShardSettings
  readonly #partitions: Set<Partition>
  readonly #ticks: () => number
  readonly #deadlines: ActorDeadlines
  readonly #rows: CollectedRows
  readonly #alerts: ShardAlerts
  readonly #fleet: ShardFleet
  readonly #roster: Roster
  readonly #sweep: Sweep
  readonly #applied: number[] = new Array<number>(LIMITS.partitions).fill(0)
  readonly #covered = new Float64Array(LIMITS.partitions)
  readonly #seen: number[] = new Array<number>(LIMITS.partitions).fill(0)
  /** The position up to which vitals reach, even for entries whose proposal is not settled. */
  readonly #reached: number[] = new Array<number>(LIMITS.partitions).fill(0)
  #isLoaded = false
  readonly #takeOver = new TakeOver()
  /** Receive time of the last message read, in milliseconds. */
  #reachedAt = 0
  #open: OpenProposal | undefined
  #wants: Wants = NO_WANTS

  constructor(settings: ShardSettings, ticks: () => number) {
    this.#settings = settings
    this.#partitions = new Set(settings.partitions)
    this.#ticks = ticks
    this.#rows = new CollectedRows()
    this.#fleet = new ShardFleet(settings.incarnation)
    this.#alerts = new ShardAlerts({
      ticks,
      graceMsOf: (device) => heartbeatTimeoutOf(device, settings),
      forgivenAt: () => this.#deadlines.forgivenAt,
      reschedule: (actor) => this.#deadlines.schedule(actor),
      slotValues: this.#rows.columns.shapes.slotValues,
      openMax: () => Math.ceil((LIMITS.alertsOpenMax * this.#partitions.size) / LIMITS.partitions),
    })
    this.#deadlines = new ActorDeadlines(settings, (actor) => this.#alerts.dueAt(actor, actor.device))
    this.#roster = new Roster({ deadlines: this.#deadlines, alerts: this.#alerts, fleet: this.#fleet })
    this.#sweep = new Sweep({
      settings,
      deadlines: this.#deadlines,
      alerts: this.#alerts,
      fleet: this.#fleet,
    })
  }

  run(task: ShardTask): WorkResult | undefined {
    if (task.kind === 'work') {
      // A thread that Piscina replaced knows no devices, so it must not decide anything.
      assert(this.#isLoaded, 'a shard is loaded before it works')
      return this.work(task)
    }
    this.#settleAlerts(task)
    this.load(task.devices, task.applied, task.now)
    return undefined
  }

  /** Adds saved devices. There may be other devices already. */
  load(devices: readonly StoredDevice[], applied: readonly Position[], now: Millis): void {
    this.#isLoaded = true
    this.#deadlines.load(now)
    this.#alerts.caughtUp(false)
    for (const { partition, seq } of applied) {
      this.#partitions.add(partition)
      this.#applied[partition] = seq
      this.#reached[partition] = seq
    }
    for (const stored of devices) {
      const actor = this.#roster.load(stored, this.#settings.bootAt, now)
      // Sessions on a broker outside survive a change of owner. On our own broker they all begin anew.
      if (this.#settings.bootAt === 0) this.#takeOver.note(actor, now)
    }
  }

  work(task: WorkTask): WorkResult {
    const startedAt = this.#ticks()
    this.#deadlines.startTask(task)
    this.#fleet.stopIfUnwatched(task.now)
    if (task.settle) this.#settle(task.now)
    for (const id of task.unsent) {
      const actor = this.#roster.actors.get(id)
      if (actor !== undefined) this.#takeOver.note(actor, task.now)
    }
    if (task.wants !== undefined) this.#wants = task.wants
    this.#settleAlerts(task)
    if (task.forgiveAt !== undefined) this.#forgive(task.forgiveAt)
    const counts = emptyCounts()
    const blocksSince = this.#rows.since
    const blocks = this.#cut(task, counts)
    // Copied before the next batch is applied: `covered` must not promise rows that are still being decided (S3).
    const covered = this.#covered.slice()
    const isAllOut = this.#rows.count === 0 && this.#open === undefined
    // Vitals reach as far as `covered`, too.
    const vitals = task.vitals ? takeVitals(this.#roster.actors.values()) : []
    const context = { now: task.now, alerts: this.#alerts, fleet: this.#fleet, reached: this.#reached }
    const answers = task.asks.map((ask) => answer(this.#roster.actors, ask, context))
    const open = openProposal((id) => this.#roster.actors.get(id)?.device, this.#wants.timeline)
    const batch = this.#batch(task, open, counts)
    if (task.entries.length > 0) this.#propose(task, batch)
    if (task.sweep !== undefined) {
      if (task.sweep !== 'rest') this.#beginSweep(task.sweep)
      this.#sweep.judgeNext(batch)
      if (task.sweep !== 'rest') this.#takeOver.resend(task.now, batch)
    }
    // Without entries and without a sweep, the earlier proposal stays open, because it is still being saved.
    if (task.entries.length > 0 || task.sweep !== undefined) this.#open = open
    this.#fleet.count(counts)
    this.#alerts.effort.takeInto(counts)
    counts.busyMs = this.#ticks() - startedAt
    return {
      proposal: open.proposal(),
      answers,
      blocks,
      covered,
      isAllOut,
      blocksSince,
      isSweepCut: this.#sweep.isCut,
      vitals,
      counts,
      devices: this.#roster.actors.size,
      alerts: this.#alerts.counts.takeTotals(),
    }
  }

  #batch(task: WorkTask, open: OpenProposal, counts: MutableCounts): Batch {
    return {
      shard: this.#settings,
      actors: this.#roster.actors,
      columns: this.#rows.columns,
      history: this.#rows.history,
      open,
      counts,
      horizon: task.horizon,
      wants: this.#wants,
      decisions: new Decisions(open, task.now, this.#alerts),
      alerts: this.#alerts,
      reschedule: (actor) => this.#deadlines.schedule(actor),
      resend: (actor) => this.#takeOver.note(actor, task.now),
    }
  }

  #propose(task: WorkTask, batch: Batch): void {
    const { open } = batch
    const savepoint = this.#rows.savepoint()
    open.rows = task.rows
    for (const entry of task.entries) {
      const isNew = entry.seq > (this.#applied[entry.partition] ?? 0)
      const isFirst = entry.seq > (this.#seen[entry.partition] ?? 0)
      this.#applyEntry(entry, { isNew, isFirst }, batch)
      open.reach(entry, isNew)
      raise(this.#reached, entry)
    }
    clearProgress(this.#settings.progress)
    if (task.rows) this.#rows.age(task.now)
    else this.#rows.truncate(savepoint)
  }

  #applyEntry(entry: Entry, how: Pick<Incoming, 'isNew' | 'isFirst'>, batch: Batch): void {
    const { progress } = this.#settings
    enterEntry(progress, entry)
    let incoming: Incoming | undefined
    let index = 0
    try {
      for (const item of readItems(entry.body)) {
        begin(progress, index)
        this.#reachedAt = item.receivedAt / 1000
        incoming ??= { item, entry, index, ...how }
        incoming.item = item
        incoming.index = index
        this.#applyItem(incoming, batch)
        index++
      }
    } catch (error) {
      // Only reading fails here: the rest of the bundle is damaged and belongs to no known device.
      batch.counts.refused++
      if (how.isNew) batch.open.parkRest(entry, index, String(error))
    }
  }

  /** Parks a message that makes the code throw, so that the device's other messages go on (R10). */
  #applyItem(incoming: Incoming, batch: Batch): void {
    const savepoint = this.#rows.savepoint()
    const { open } = batch
    open.isNoSignOfLife = false
    open.parkedFor = undefined
    open.mayPark = true
    open.setMoment(incoming.item.receivedAt, placeOf(incoming), viaOf(incoming.item))
    try {
      this.#dispatch(incoming, batch)
    } catch (error) {
      this.#rows.truncate(savepoint)
      batch.counts.refused++
      open.park(incoming, 'INTERNAL', errorText(error))
    }
  }

  #dispatch(incoming: Incoming, batch: Batch): void {
    const { item, isNew, isFirst } = incoming
    if (item.kind === ITEM.parked) return
    if (!isFirst && item.kind !== ITEM.message && item.kind !== ITEM.request) return
    // Written by the ingress from a valid device id.
    const id = Buffer.from(item.id.buffer, item.id.byteOffset, item.id.length).toString('latin1') as DeviceId
    const known = isNew && this.#sweep.isCut ? this.#roster.actors.get(id) : undefined
    if (known !== undefined) this.#sweep.judgeFirst(known, incoming, batch)
    if (item.kind === ITEM.request) {
      const own = isNew ? applyRequest(incoming, batch) : undefined
      if (own !== undefined) this.#touch(own, incoming, batch)
      return
    }
    const actor = this.#roster.of(id, batch.open)
    if (!isAllowedSender(actor, incoming, batch)) return
    if (actor === undefined) {
      batch.open.park(incoming, 'UNKNOWN_DEVICE', 'no such device is registered')
      return
    }
    // Rows of an earlier device with this id are not made again.
    if (!isNew && isBeforeRegistration(incoming, actor.device)) return
    if (isReplay(item) ? isReplayedAgain(actor, incoming, batch) : isRepeated(actor, incoming)) {
      batch.counts.ignored++
      return
    }
    // If a replayed letter fails again, it must not be lost.
    batch.open.mayPark = isReplay(item) || mayPark(actor, timeOf(incoming))
    // Updates the rules before the message is applied, so that new rules see its values as news.
    this.#alerts.watchOf(actor, timeOf(incoming))
    let isConnectionMoved = false
    if (item.kind === ITEM.opened) isConnectionMoved = sessionOpened(actor, incoming, batch)
    else if (item.kind === ITEM.closed) isConnectionMoved = sessionClosed(actor, incoming, batch)
    else if (item.kind === ITEM.listening) sessionListens(actor, incoming, batch)
    else if (item.kind === ITEM.delivered) applyDelivered(actor, incoming, batch)
    // `heard` means that a gateway spoke for a sub-device, whose own actor gets the message: a sign of life of the gateway.
    else if (item.kind !== ITEM.heard) applyMessage(actor, incoming, batch)
    if (item.kind === ITEM.opened || item.kind === ITEM.closed || item.kind === ITEM.listening)
      this.#fleet.note(actor)
    if (isFirst) this.#touch(actor, incoming, batch)
    if (isConnectionMoved) this.#alerts.connection(actor, timeOf(incoming))
    // Told after the change of status that the connection causes, so that nobody sees a device connected and offline.
    if (isConnectionMoved && isNew) {
      publishConnection(actor, timeOf(incoming), batch)
      this.#alerts.record(actor, timeOf(incoming), batch.decisions)
    }
    const { parkedFor } = batch.open
    if (parkedFor === undefined) return
    countLetter(actor, timeOf(incoming))
    this.#alerts.triggered(actor, { kind: 'parked', reason: parkedFor }, incoming, batch.decisions)
  }

  /** Any publish is a sign of life except a last will. MQTT's own pings do not get here. */
  #touch(actor: Actor, incoming: Incoming, batch: Batch): void {
    actor.isDirty = true
    if (batch.open.isNoSignOfLife) return
    const at = timeOf(incoming)
    if (at > actor.heardAt) actor.heardAt = at
    const status = (batch.open.devices.get(actor.device.id) ?? actor.device).status
    if (status === 'online') this.#deadlines.heard(actor, at)
    else if (incoming.isNew && (status === 'offline' || status === 'provisioning'))
      batch.decisions.decide(actor, { kind: 'heard', seenAt: at }, at)
  }

  /** Forgives silence after time was lost: until the next sweep, messages from that time may still be unread. */
  #forgive(at: Millis): void {
    this.#deadlines.forgive(at, this.#roster.actors.values())
    this.#alerts.caughtUp(false)
  }

  #beginSweep(sweep: Millis | 'behind'): void {
    const isBehind = sweep === 'behind'
    this.#fleet.behind(isBehind ? this.#reachedAt : undefined)
    if (!isBehind) this.#alerts.caughtUp(true)
    // On a broker outside, a lane may have had no reader for a while. Its devices then come later in the log than others.
    const provesSilence = !isBehind || this.#settings.bootAt > 0
    this.#sweep.begin(isBehind ? Millis(this.#reachedAt - BEHIND_MS) : sweep, provesSilence)
  }

  #settle(now: Millis): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return
    for (const position of open.reached()) {
      raise(this.#applied, position)
      raise(this.#seen, position)
      if (open.rows) raise(this.#covered, position)
    }
    this.#roster.settle(open, now)
  }

  #settleAlerts({ alertSettings, now }: ShardTask): void {
    if (alertSettings === undefined) return
    const isChanging = ({ device }: Actor) => this.#open?.devices.has(device.id) === true
    this.#alerts.settle(alertSettings, this.#roster.actors.values(), { now, isChanging })
  }

  #cut(task: WorkTask, counts: MutableCounts): readonly Block[] {
    const isDue = task.cut === 'all' || this.#rows.isDue(task.now)
    // While a proposal is open, there are rows that are not settled (S3).
    if (this.#rows.count === 0 || !isDue || this.#open !== undefined) return []
    const startedAt = this.#ticks()
    const blocks = this.#rows.cut()
    counts.encodeMs = this.#ticks() - startedAt
    return blocks
  }
}

/** Takes the vitals that have changed since they were last taken. */
function takeVitals(
  actors: Iterable<Actor>,
): readonly { readonly deviceId: DeviceId; readonly bytes: Uint8Array }[] {
  const vitals: { readonly deviceId: DeviceId; readonly bytes: Uint8Array }[] = []
  for (const actor of actors) {
    if (!actor.isDirty) continue
    actor.isDirty = false
    vitals.push({ deviceId: actor.device.id, bytes: encodeVitals(actor) })
  }
  return vitals
}
