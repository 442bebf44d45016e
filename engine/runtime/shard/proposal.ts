// The proposal of a batch while it is made: everything the batch would change or ask for, apart from what is settled
// (shard S2).
import { type DeviceId, type Millis, type Partition, toMillis } from '../../../schemas/ids.ts'
import type { Alert } from '../../domain/alert/alerts-part.ts'
import type { DisplayedState } from '../../domain/alert/body.ts'
import type { Command } from '../../domain/command/record.ts'
import type { Effect } from '../../domain/device/events.ts'
import type { Device } from '../../domain/device/record.ts'
import type { SenderRefusal } from '../../domain/device/sub-device.ts'
import { type HistoryRow, type WrittenRow, writtenRow } from '../../domain/history/row.ts'
import { unreachable } from '../../domain/unreachable.ts'
import type { DeviceView } from '../../ports/device-view.ts'
import type { FeedEvent, TimelineEvent, Want } from '../../ports/feed.ts'
import type { Entry } from '../../ports/log.ts'
import type { Notice } from '../../ports/notices.ts'
import type { DeadLetter, LateHour } from '../../ports/store.ts'
import { isWanted, NO_WANTS } from '../feed.ts'
import { performAlertMove } from './alert-effects.ts'
import { toDeadLetter, unreadableRest } from './dead-letters.ts'
import { commandRow, shadowRow, statusRow } from './history-rows.ts'
import type { Incoming } from './incoming.ts'
import { jobRow } from './ota-effects.ts'
import { clearDesired, isStillDue, toOutbound } from './outbound.ts'
import type { OtaOutbound, Outbound, Position, Proposal, Reply } from './protocol.ts'
import { toSave } from './stored-parts.ts'

/** A device after an event. `before` is the device before it, undefined if it is new. */
export interface DeviceChange {
  readonly before: Device | undefined
  readonly device: Device
  /** Created only if somebody is to see it. */
  readonly view: () => DeviceView
  /** The gateway that its commands go through. */
  readonly via: DeviceId | undefined
  /** The gateway that its messages about firmware go through. */
  readonly otaVia: DeviceId | undefined
  /** The gateway that is connected and speaks for it. */
  readonly relay: DeviceId | undefined
  readonly displayedState: (alert: Alert) => DisplayedState
}

export interface RequestResult {
  refusal: Extract<Effect, { kind: 'refuse' }> | undefined
  command: Command | undefined
  isForgotten: boolean
}

/** When and where in the log something happened. Both tell rows of the history apart. */
interface Moment {
  at: number
  /** Undefined for a sweep. */
  place: number | undefined
  /** How many rows this moment has so far. */
  rows: number
  /** The gateway that the current message came through. */
  via: DeviceId | undefined
}

export interface OpenProposal {
  /** The next record of each device that changes. */
  readonly devices: Map<DeviceId, Device>
  /** Devices that were forgotten. One that is also in `devices` was registered again since. */
  readonly gone: Set<DeviceId>
  readonly replies: Reply[]
  readonly feed: FeedEvent[]
  rows: boolean
  /** Set by a message that is no sign of life, and reset before each message. */
  isNoSignOfLife: boolean
  /** Why the current message was parked, if it was. */
  parkedFor: string | undefined
  /** False while the device has as many dead letters as it may have in one second. */
  mayPark: boolean
  /** Sets when, where in the log and through which gateway the following effects happen. */
  setMoment(at: number, place: number | undefined, via: DeviceId | undefined): void
  reach(entry: Entry, isNew: boolean): void
  reached(): readonly Position[]
  park(incoming: Incoming, reason: string, detail: string): void
  /** Parks a gateway's message for a device it may not speak for. The dead letter belongs to the gateway. */
  parkSender(incoming: Incoming, sender: DeviceId, refusal: SenderRefusal): void
  /** Parks the rest of an entry that cannot be read from this message on. */
  parkRest(entry: Entry, index: number, detail: string): void
  late(deviceId: DeviceId, hour: number): void
  /** Adds a row of the timeline. It is saved together with the changed record that it follows from. */
  addTimelineRow(row: HistoryRow, event: TimelineEvent): void
  /** Adds an entry of the audit. It is saved together with what it reports. */
  audit(row: WrittenRow): void
  /** Adds a notice for the leader. It is saved together with the decision that it follows from. */
  notify(notice: Notice): void
  perform(effects: readonly Effect[], changed: DeviceChange, now: Millis): RequestResult
  /** Drops what this batch would save of the device or send to it. The audit and the leader's notices stay. */
  forget(deviceId: DeviceId): void
  proposal(): Proposal
}

/** `settled`: looks up the saved devices. `timelineWant`: the devices whose timeline somebody listens to. */
export function openProposal(
  settled: (id: DeviceId) => Device | undefined,
  timelineWant: Want = NO_WANTS.timeline,
): OpenProposal {
  const reached = new Map<Partition, number>()
  const applied = new Map<Partition, number>()
  const deadLetters: DeadLetter[] = []
  const late = new Map<string, LateHour>()
  const cuts: DeviceId[] = []
  const ended: DeviceId[] = []
  const outbound: Outbound[] = []
  const ota: OtaOutbound[] = []
  const moment: Moment = { at: 0, place: undefined, rows: 0, via: undefined }
  const history: WrittenRow[] = []
  const notices: Notice[] = []
  const open: OpenProposal = {
    devices: new Map(),
    gone: new Set(),
    replies: [],
    feed: [],
    rows: true,
    isNoSignOfLife: false,
    parkedFor: undefined,
    mayPark: true,
    setMoment(at, place, via) {
      moment.at = at
      moment.place = place
      moment.rows = 0
      moment.via = via
    },
    reach(entry, isNew) {
      reached.set(entry.partition, entry.seq)
      if (isNew) applied.set(entry.partition, entry.seq)
    },
    reached: () => toPositions(reached),
    park(incoming, reason, detail) {
      // An item that is read again only for its rows was parked the first time it was read (shard S1).
      if (!incoming.isNew) return
      if (open.mayPark) deadLetters.push(toDeadLetter(incoming, { reason, detail }))
      open.parkedFor = reason
    },
    parkSender(incoming, sender, refusal) {
      if (incoming.isNew) deadLetters.push({ ...toDeadLetter(incoming, refusal), deviceId: sender })
    },
    parkRest(entry, index, detail) {
      deadLetters.push(unreadableRest(entry, index, detail))
    },
    late(deviceId, hour) {
      late.set(`${deviceId} ${hour}`, { deviceId, hour })
    },
    addTimelineRow(readable, event) {
      // Formatted here, because text crosses to the host for less than an object does.
      const row = writtenRow(readable)
      const { deviceId, at } = row
      history.push(row)
      if (isWanted(timelineWant, deviceId))
        open.feed.push({ kind: 'timeline', event, deviceId, at: toMillis(at), row })
    },
    audit: (row) => void history.push(row),
    notify: (notice) => void notices.push(notice),
    perform(effects, changed, now) {
      const result: RequestResult = { refusal: undefined, command: undefined, isForgotten: false }
      for (const effect of effects)
        performOne(effect, { open, outbound, ota, cuts, ended, moment, changed, now, result })
      return result
    },
    forget(deviceId) {
      open.devices.delete(deviceId)
      open.gone.add(deviceId)
      removeFrom(deadLetters, (letter) => letter.deviceId === deviceId)
      removeFrom(history, (row) => row.deviceId === deviceId && row.kind !== 'audit')
      removeFrom(outbound, (each) => each.deviceId === deviceId)
      removeFrom(ota, (each) => each.deviceId === deviceId)
      for (const [key, hour] of late) if (hour.deviceId === deviceId) late.delete(key)
    },
    proposal: () => ({
      applied: toPositions(applied),
      removed: [...open.gone],
      ...toSave(open.devices.values(), (id) => (open.gone.has(id) ? undefined : settled(id))),
      deadLetters,
      late: [...late.values()],
      history,
      notices,
      replies: open.replies,
      outbound: outbound.filter((each) => isStillDue(each, open.devices.get(each.deviceId))),
      ota,
      cuts,
      ended,
      feed: open.feed,
    }),
  }
  return open
}

interface Performing {
  readonly open: OpenProposal
  readonly outbound: Outbound[]
  readonly ota: OtaOutbound[]
  readonly cuts: DeviceId[]
  readonly ended: DeviceId[]
  readonly moment: Moment
  readonly changed: DeviceChange
  readonly now: Millis
  readonly result: RequestResult
}

function performOne(
  effect: Effect,
  { open, outbound, ota, cuts, ended, moment, changed, now, result }: Performing,
): void {
  const { device, before } = changed
  const { id: deviceId } = device
  switch (effect.kind) {
    case 'cut':
      if (cuts.includes(deviceId)) return
      cuts.push(deviceId)
      if (device.parentId !== undefined) outbound.push(clearDesired(deviceId, device.parentId))
      return
    case 'forget':
      result.isForgotten = true
      return
    case 'end_sessions':
      ended.push(deviceId)
      return
    case 'announce':
      open.feed.push({ kind: 'device', event: effect.event, at: now, view: changed.view() })
      if (effect.event !== 'device.updated')
        open.addTimelineRow(statusRow(before, device, { ...effect, now }), effect.event)
      return
    case 'publish':
      outbound.push(...toOutbound(effect, changed, moment.via))
      return
    case 'shadow_changed':
      open.feed.push({ kind: 'shadow', event: 'shadow.updated', deviceId, at: now, change: effect.change })
      open.addTimelineRow(shadowRow(deviceId, effect.change), 'shadow.updated')
      return
    case 'command_moved': {
      const row = moment.rows++
      open.feed.push({ kind: 'command', event: 'command.status', deviceId, at: now, command: effect.command })
      open.addTimelineRow(commandRow(deviceId, effect.command, { ...moment, row }), 'command.status')
      return
    }
    case 'job_moved': {
      const { job, previous } = effect
      const row = moment.rows++
      open.feed.push({ kind: 'job', event: 'deployment.device', deviceId, at: now, job, previous })
      open.addTimelineRow(jobRow(deviceId, effect, { ...moment, row, now }), 'deployment.device')
      return
    }
    case 'ota':
      ota.push({ deviceId, via: changed.otaVia, send: effect.send })
      return
    case 'alert_moved':
      performAlertMove(effect, {
        ...{ open, device, before, now, shown: changed.displayedState },
        place: { ...moment, row: moment.rows++ },
      })
      return
    case 'answer':
      result.command = effect.command
      return
    case 'refuse':
      result.refusal = effect
      return
    default:
      unreachable(effect)
  }
}

function removeFrom<Item>(items: Item[], isMeant: (item: Item) => boolean): void {
  items.splice(0, items.length, ...items.filter((item) => !isMeant(item)))
}

function toPositions(seqs: ReadonlyMap<Partition, number>): readonly Position[] {
  return [...seqs].map(([partition, seq]) => ({ partition, seq }))
}
