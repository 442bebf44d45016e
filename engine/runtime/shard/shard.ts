// A shard: some partitions' devices, applied one event at a time in log order (R2), batch by batch.
// It decides and encodes; it does no I/O, never awaits and asks no clock.
//
// S1. An entry above the applied position is applied in full; at or below it its records are saved already and only
//     rows and vitals are read again; and what this incarnation has seen before is read for its rows alone, so that
//     catching up with rows never takes vitals back.
// S2. Settled records change only in settle('saved'). A proposal that is dropped leaves no trace (R4).
// S3. Rows leave only after the proposal of their batch is settled, and `covered` says how far they reach.
import { strict as assert } from 'node:assert'
import { Buffer } from 'node:buffer'
import { type DeviceId, type Micros, Millis, toMillis } from '../../../schemas/ids.ts'
import { ITEM, type Item, readItems } from '../../domain/bundle.ts'
import { commandDeadline } from '../../domain/device/command-events.ts'
import type { DeviceEvent } from '../../domain/device/events.ts'
import type { Device } from '../../domain/device/record.ts'
import { nextDeadline } from '../../domain/device/transition.ts'
import { HistoryColumns } from '../../domain/history/columns.ts'
import { Columns } from '../../domain/telemetry/columns.ts'
import { LIMITS } from '../../limits.ts'
import type { Wants } from '../../ports/feed.ts'
import type { Entry } from '../../ports/log.ts'
import type { StoredDevice } from '../../ports/store.ts'
import type { Block } from '../../ports/telemetry.ts'
import { NO_WANTS } from '../feed.ts'
import { type Actor, type Actors, encodeVitals, newActor, restoreVitals, wayOf } from './actor.ts'
import { answer } from './answers.ts'
import type { Batch } from './batch.ts'
import { Compactor } from './compact.ts'
import { applyDelivered } from './control-uplinks.ts'
import { Deadlines } from './deadlines.ts'
import { Decisions } from './decisions.ts'
import { decodeCommands, decodeShadow } from './kept.ts'
import type { Place } from './place.ts'
import { placeOf } from './place.ts'
import { begin, enter, leave } from './progress.ts'
import {
  emptyCounts,
  type MutableCounts,
  type Open,
  openProposal,
  type Savepoint,
  viaOf,
} from './proposal.ts'
import type { Position, ShardSettings, ShardTask, WorkResult, WorkTask } from './protocol.ts'
import { isRepeated } from './repeats.ts'
import { applyRequest } from './requests.ts'
import { calmsAt, sessionClosed, sessionListens, sessionOpened, tellConnection } from './sessions.ts'
import { mayBeSaid } from './sub-devices.ts'
import { applyMessage } from './uplinks.ts'

/** Entries that were appended together are in no order of time among partitions: what is unread may be this much
 *  older than the last message read. */
const BEHIND_MS = 5_000

export class Shard {
  readonly #settings: ShardSettings
  readonly #ticks: () => number
  readonly #actors: Actors = new Map()
  /** Registered in the open batch and heard of in it already: so it is where the log is read for a store that lost them. */
  readonly #newcomers = new Map<DeviceId, Actor>()
  readonly #bySlot: Actor[] = []
  readonly #deadlines = new Deadlines()
  readonly #compactor = new Compactor()
  readonly #columns = new Columns()
  /** Of devices' messages alone: a replay collects them again, like telemetry. */
  readonly #history = new HistoryColumns()
  readonly #applied: number[] = new Array<number>(LIMITS.partitions).fill(0)
  readonly #covered = new Float64Array(LIMITS.partitions)
  readonly #seen: number[] = new Array<number>(LIMITS.partitions).fill(0)
  #isLoaded = false
  /** The first rows since the last cut were collected then; 0 while there are none. */
  #rowsSince = 0
  /** The receive time of the last message read, in milliseconds. */
  #reachedAt = 0
  #blocksCut = 0
  #forgivenAt = 0
  /** The time of the last sweep. */
  #sweptAt = 0
  /** The time of the last task. */
  #now = Millis(0)
  #open: Open | undefined
  #wants: Wants = NO_WANTS

  constructor(settings: ShardSettings, ticks: () => number) {
    this.#settings = settings
    this.#ticks = ticks
  }

  run(task: ShardTask): WorkResult | undefined {
    if (task.kind === 'work') {
      // A thread that was replaced behind our back knows no device: it must not decide anything.
      assert(this.#isLoaded, 'a shard is loaded before it works')
      return this.work(task)
    }
    this.load(task.devices, task.applied, task.now)
    return undefined
  }

  /** Takes in saved devices. A device that was online counts as heard now: a restart invents no silence. */
  load(devices: readonly StoredDevice[], applied: readonly Position[], now: Millis): void {
    this.#isLoaded = true
    this.#forgivenAt = now
    this.#now = now
    this.#sweptAt = now
    for (const { partition, seq } of applied) this.#applied[partition] = seq
    for (const { device, vitals, shadow, commands } of devices) {
      const kept = { shadow: decodeShadow(shadow), commands: decodeCommands(commands) }
      const actor = this.#adopt(this.#newActor({ ...device, ...kept }))
      if (vitals !== undefined) restoreVitals(actor, vitals, this.#settings.bootAt)
      this.#schedule(actor)
    }
  }

  work(task: WorkTask): WorkResult {
    const startedAt = this.#ticks()
    this.#now = task.now
    if (task.settle !== undefined) this.#settle(task.settle)
    if (task.wants !== undefined) this.#wants = task.wants
    if (task.forgiveAt !== undefined) this.#forgive(task.forgiveAt)
    const counts = emptyCounts()
    const blocksSince = Millis(this.#rowsSince)
    const blocks = this.#cut(task, counts)
    // Before the next batch: `covered` must not promise rows that are still being decided (S3).
    const covered = this.#covered.slice()
    const isAllOut = this.#rows() === 0 && this.#open === undefined
    // As of `covered` too, not of what is being decided.
    const vitals = task.vitals ? this.#takeVitals() : []
    const answers = task.asks.map((ask) => answer(this.#actors, ask, task.now))
    const open = openProposal((id) => this.#actors.get(id)?.device, this.#wants.timeline)
    const batch = this.#batch(task, open, counts)
    if (task.entries.length > 0) this.#propose(task, batch)
    if (task.sweep !== undefined)
      this.#sweep(task.sweep === 'behind' ? Millis(this.#reachedAt - BEHIND_MS) : task.sweep, batch)
    // A task without entries and without a sweep leaves the proposal before it open: it is still being saved.
    if (task.entries.length > 0 || task.sweep !== undefined) this.#open = open
    counts.busyMs = this.#ticks() - startedAt
    return {
      proposal: open.proposal(),
      answers,
      blocks,
      covered,
      isAllOut,
      blocksSince,
      vitals,
      counts,
      devices: this.#actors.size,
    }
  }

  #batch(task: WorkTask, open: Open, counts: MutableCounts): Batch {
    return {
      shard: this.#settings,
      actors: this.#actors,
      columns: this.#columns,
      history: this.#history,
      open,
      counts,
      horizon: task.horizon,
      wants: this.#wants,
      decisions: new Decisions(open, task.now),
      reschedule: (actor) => this.#schedule(actor),
    }
  }

  #propose(task: WorkTask, batch: Batch): void {
    const { open } = batch
    open.savepoint = this.#savepoint()
    open.rows = task.rows
    for (const entry of task.entries) {
      const isNew = entry.seq > (this.#applied[entry.partition] ?? 0)
      const isFirst = entry.seq > (this.#seen[entry.partition] ?? 0)
      this.#applyEntry(entry, { isNew, isFirst }, batch)
      open.reach(entry, isNew)
    }
    leave(this.#settings.progress)
    if (!task.rows) this.#truncate(open.savepoint)
    else if (this.#rowsSince === 0 && this.#rows() > 0) this.#rowsSince = task.now
  }

  #applyEntry(entry: Entry, { isNew, isFirst }: Omit<Place, 'entry' | 'index'>, batch: Batch): void {
    const { progress } = this.#settings
    enter(progress, entry)
    let index = 0
    try {
      for (const item of readItems(entry.body)) {
        begin(progress, index)
        this.#reachedAt = item.receivedAt / 1000
        this.#applyItem(item, { entry, index, isNew, isFirst }, batch)
        index++
      }
    } catch (error) {
      // Only reading gets here: the rest of the bundle is damaged, and tells of no device.
      batch.counts.refused++
      if (isNew) batch.open.parkRest(entry, index, String(error))
    }
  }

  /** A message that makes the code throw is parked, and the device's other messages go on (R10). */
  #applyItem(item: Item, place: Place, batch: Batch): void {
    const savepoint = this.#savepoint()
    const { open } = batch
    open.wasSilent = false
    open.enter(item.receivedAt, placeOf(place), viaOf(item))
    try {
      this.#dispatch(item, place, batch)
    } catch (error) {
      this.#truncate(savepoint)
      batch.counts.refused++
      batch.open.park(item, place, 'INTERNAL', error instanceof Error ? error.message : String(error))
    }
  }

  #dispatch(item: Item, place: Place, batch: Batch): void {
    if (item.kind === ITEM.parked) return
    if (item.kind === ITEM.request) {
      if (place.isNew) applyRequest(item, batch)
      return
    }
    if (!place.isFirst && item.kind !== ITEM.message) return
    // Written by the ingress from a valid device id.
    const deviceId = Buffer.from(item.id.buffer, item.id.byteOffset, item.id.length).toString(
      'latin1',
    ) as DeviceId
    const actor = this.#actorOf(deviceId, batch)
    if (!mayBeSaid(actor, item, place, batch)) return
    if (actor === undefined) {
      batch.open.park(item, place, 'UNKNOWN_DEVICE', 'no such device is registered')
      return
    }
    if (isRepeated(actor, item, place)) {
      batch.counts.ignored++
      return
    }
    let isConnectionMoved = false
    if (item.kind === ITEM.opened) isConnectionMoved = sessionOpened(actor, item, place, batch)
    else if (item.kind === ITEM.closed) isConnectionMoved = sessionClosed(actor, item, batch)
    else if (item.kind === ITEM.listening) sessionListens(actor, item, place, batch)
    else if (item.kind === ITEM.delivered) applyDelivered(actor, item, place, batch)
    // A gateway spoke for a sub-device, whose own actor has the message: here it is a sign of life.
    else if (item.kind !== ITEM.heard) applyMessage(actor, item, place, batch)
    if (place.isFirst) this.#touch(actor, item.receivedAt as Micros, place, batch)
    // After the status that it brings: who connects is online, and was never seen connected and away.
    if (isConnectionMoved && place.isNew) tellConnection(actor, toMillis(item.receivedAt as Micros), batch)
  }

  /** Any publish is a sign of life, a last will is not; MQTT's own pings never get here. */
  #touch(actor: Actor, receivedAt: Micros, place: Place, batch: Batch): void {
    actor.isDirty = true
    if (batch.open.wasSilent) return
    const at = toMillis(receivedAt)
    if (at > actor.heardAt) actor.heardAt = at
    const status = (batch.open.devices.get(actor.device.id) ?? actor.device).status
    if (status === 'online')
      this.#deadlines.setPresence(
        actor.slot,
        Math.max(at, this.#forgivenAt) + this.#settings.heartbeatTimeoutMs,
      )
    else if (place.isNew && (status === 'offline' || status === 'provisioning'))
      batch.decisions.decide(actor, { kind: 'heard', seenAt: at }, at)
  }

  #sweep(now: Millis, batch: Batch): void {
    const { open, decisions } = batch
    open.enter(now * 1000, 0, undefined)
    const since = this.#sweptAt
    this.#sweptAt = Math.max(since, now)
    for (const slot of this.#deadlines.due(now)) {
      const actor = this.#bySlot[slot]
      if (actor === undefined) continue
      this.#deadlines.clear(slot)
      const device = decisions.deviceOf(actor)
      // The vitals may have moved on since the deadline was set.
      if (this.#presenceDeadline(actor, device) <= now) {
        const event: DeviceEvent =
          device.status === 'error'
            ? { kind: 'recovered' }
            : { kind: 'silent', seenAt: Millis(actor.heardAt) }
        decisions.decide(actor, event, now)
      }
      if (decisions.deviceOf(actor).commands.length > 0) decisions.decide(actor, { kind: 'overdue' }, now)
      if (calmsAt(actor, since) <= now) tellConnection(actor, now, batch)
      if (!open.devices.has(actor.device.id)) this.#schedule(actor)
    }
  }

  #settle(verdict: 'saved' | 'dropped'): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return
    if (verdict === 'dropped') {
      if (open.savepoint !== undefined) this.#truncate(open.savepoint)
      for (const id of open.devices.keys()) {
        const actor = this.#actors.get(id)
        if (actor !== undefined) this.#schedule(actor)
      }
      this.#newcomers.clear()
      return
    }
    for (const position of open.reached()) {
      raise(this.#applied, position)
      raise(this.#seen, position)
      if (open.rows) raise(this.#covered, position)
    }
    for (const device of open.devices.values()) {
      const known = this.#actors.get(device.id) ?? this.#newcomers.get(device.id)
      const actor = this.#adopt(known ?? this.#newActor(device))
      actor.device = this.#compactor.compact(device)
      this.#schedule(actor)
    }
    this.#newcomers.clear()
  }

  #cut(task: WorkTask, counts: MutableCounts): readonly Block[] {
    const rows = this.#rows()
    const isDue =
      this.#columns.points >= LIMITS.blockRowsMax ||
      this.#history.bytes >= LIMITS.historyBlockBytesMax ||
      (rows > 0 && task.now - this.#rowsSince >= LIMITS.blockAgeMsMax) ||
      task.cut === 'all'
    // With a proposal still open the columns hold rows that are not settled.
    if (rows === 0 || !isDue || this.#open !== undefined) return []
    const startedAt = this.#ticks()
    this.#rowsSince = 0
    const taken = this.#columns.take()
    const blocks: Block[] = []
    const token = `${this.#settings.incarnation}-${this.#blocksCut++}`
    if (taken.points !== undefined) blocks.push({ kind: 'points', ...taken.points, token: `${token}p` })
    if (taken.texts !== undefined) blocks.push({ kind: 'texts', ...taken.texts, token: `${token}t` })
    const history = this.#history.take()
    if (history !== undefined) blocks.push({ kind: 'history', ...history, token: `${token}h` })
    counts.encodeMs = this.#ticks() - startedAt
    return blocks
  }

  /** Rows collected and not handed out. */
  #rows(): number {
    return this.#columns.rows + this.#history.rows
  }

  #savepoint(): Savepoint {
    return { columns: this.#columns.savepoint(), history: this.#history.savepoint() }
  }

  #truncate(savepoint: Savepoint): void {
    this.#columns.truncate(savepoint.columns)
    this.#history.truncate(savepoint.history)
  }

  #takeVitals(): WorkResult['vitals'] {
    const vitals: { readonly deviceId: DeviceId; readonly bytes: Uint8Array }[] = []
    for (const actor of this.#actors.values()) {
      if (!actor.isDirty) continue
      actor.isDirty = false
      vitals.push({ deviceId: actor.device.id, bytes: encodeVitals(actor) })
    }
    return vitals
  }

  #actorOf(id: DeviceId, { open }: Batch): Actor | undefined {
    const known = this.#actors.get(id) ?? this.#newcomers.get(id)
    const device = known === undefined ? open.devices.get(id) : undefined
    if (device === undefined) return known
    const newcomer = this.#newActor(device)
    this.#newcomers.set(id, newcomer)
    return newcomer
  }

  #newActor(device: Device): Actor {
    return newActor(this.#compactor.compact(device), this.#deadlines.claim())
  }

  #adopt(actor: Actor): Actor {
    this.#actors.set(actor.device.id, actor)
    this.#bySlot[actor.slot] = actor
    return actor
  }

  #forgive(at: Millis): void {
    this.#forgivenAt = at
    for (const actor of this.#actors.values()) this.#schedule(actor)
  }

  #schedule(actor: Actor): void {
    const { device, slot } = actor
    this.#deadlines.setPresence(slot, this.#presenceDeadline(actor, device))
    const isIdle = device.commands.length === 0
    const at = isIdle ? Number.POSITIVE_INFINITY : commandDeadline(device, wayOf(actor), this.#now)
    this.#deadlines.setOther(slot, Math.min(at, calmsAt(actor, this.#sweptAt)))
  }

  #presenceDeadline({ heardAt, recoverAt }: Actor, device: Device): number {
    const vitals = { heardAt: Math.max(heardAt, this.#forgivenAt), recoverAt }
    return nextDeadline(device, vitals, this.#settings.heartbeatTimeoutMs)
  }
}

/** Positions only grow, in whatever order entries are read again. */
function raise(positions: number[] | Float64Array, { partition, seq }: Position): void {
  positions[partition] = Math.max(positions[partition] ?? 0, seq)
}
