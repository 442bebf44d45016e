// A batch in the making: everything it would change or ask for, kept apart from what is settled (shard S2).
import { Buffer } from 'node:buffer'
import { type DeviceId, Micros, type Millis, type Partition, toMillis } from '../../../schemas/ids.ts'
import { topicOf, toSubSuffix } from '../../../schemas/topics.ts'
import type { Alert } from '../../domain/alert/alerts-part.ts'
import type { DisplayedState } from '../../domain/alert/body.ts'
import { ITEM, type Item } from '../../domain/bundle.ts'
import type { Command } from '../../domain/command/record.ts'
import { forbiddenTopic } from '../../domain/dead-letter/stray-topic.ts'
import type { Effect } from '../../domain/device/events.ts'
import { type Device, type DeviceRecord, toRecord } from '../../domain/device/record.ts'
import type { SenderRefusal } from '../../domain/device/sub-device.ts'
import { type HistoryRow, type WrittenRow, writtenRow } from '../../domain/history/row.ts'
import { unreachable } from '../../domain/unreachable.ts'
import { LIMITS } from '../../limits.ts'
import type { DeviceView } from '../../ports/device-view.ts'
import type { FeedEvent, TimelineEvent, Want } from '../../ports/feed.ts'
import type { Entry } from '../../ports/log.ts'
import type { Notice } from '../../ports/notices.ts'
import type { DeadLetter, LateHour, SavedCommand, SavedPart, ShardSave } from '../../ports/store.ts'
import { isWanted, NO_WANTS } from '../feed.ts'
import { performAlertMove } from './alert-effects.ts'
import { commandRow, shadowRow, statusRow } from './history-rows.ts'
import type { Incoming } from './incoming.ts'
import { changesOf } from './kept.ts'
import { jobRow } from './ota-effects.ts'
import type { OtaOutbound, Outbound, Position, Proposal, Reply, ShardCounts } from './protocol.ts'

export type MutableCounts = { -readonly [Name in keyof ShardCounts]: number }

export function emptyCounts(): MutableCounts {
  return {
    stored: 0,
    points: 0,
    refused: 0,
    ignored: 0,
    adjusted: 0,
    droppedPoints: 0,
    busyMs: 0,
    encodeMs: 0,
    evaluations: 0,
    alertsMs: 0,
  }
}

/** A device after an event, and as it was before; undefined if it is new. */
export interface DeviceChange {
  readonly before: Device | undefined
  readonly device: Device
  /** Made only when somebody is to see it. */
  readonly view: () => DeviceView
  /** The gateway that its commands go through. */
  readonly via: DeviceId | undefined
  /** The gateway that its messages about firmware go through. */
  readonly otaVia: DeviceId | undefined
  /** The gateway that is connected and speaks for it. */
  readonly relay: DeviceId | undefined
  readonly alertShown: (alert: Alert) => DisplayedState
}

/** Result of a request, for its caller. */
export interface RequestResult {
  refusal: Extract<Effect, { kind: 'refuse' }> | undefined
  command: Command | undefined
  isForgotten: boolean
}

/** When and where in the log something happened: it tells rows of the history apart. */
interface Moment {
  at: number
  /** A sweep has none. */
  place: number | undefined
  /** Rows of this moment. */
  rows: number
  /** The gateway that what happens came through. */
  via: DeviceId | undefined
}

export interface Open {
  /** The next record of each device that changes. */
  readonly devices: Map<DeviceId, Device>
  /** Devices that were forgotten. One that is in `devices`, too, was registered anew since. */
  readonly gone: Set<DeviceId>
  readonly replies: Reply[]
  readonly feed: FeedEvent[]
  rows: boolean
  /** Set by a message that is no sign of life, until it has been looked at. */
  wasSilent: boolean
  /** Why the message was parked, until that has been looked at. */
  parkedFor: string | undefined
  /** False while a device has as many dead letters as one second may bring it. */
  mayPark: boolean
  /** When and where in the log what follows happens, and through which gateway. */
  enter(at: number, place: number | undefined, via: DeviceId | undefined): void
  reach(entry: Entry, isNew: boolean): void
  reached(): readonly Position[]
  park(incoming: Incoming, reason: string, detail: string): void
  /** A gateway's message for a device it may not speak for: the dead letter is the gateway's. */
  parkSender(incoming: Incoming, sender: DeviceId, refusal: SenderRefusal): void
  /** Parks the rest of an entry that cannot be read from this message on. */
  parkRest(entry: Entry, index: number, detail: string): void
  late(deviceId: DeviceId, hour: number): void
  /** A row of the timeline that follows from a changed record: it is saved with it. */
  remember(row: HistoryRow, event: TimelineEvent): void
  /** An entry of the audit: it is saved with what it tells of. */
  audit(row: WrittenRow): void
  /** Something for the leader to act on: it is saved with the decision that it follows from. */
  notify(notice: Notice): void
  perform(effects: readonly Effect[], changed: DeviceChange, now: Millis): RequestResult
  /** Drops what this batch would keep of the device or tell it. The audit and the leader's notices stay. */
  forget(deviceId: DeviceId): void
  proposal(): Proposal
}

const NO_BYTES = new Uint8Array(0)
const NO_ITEM: Item = {
  kind: ITEM.parked,
  flags: 0,
  receivedAt: Micros(0),
  id: NO_BYTES,
  via: NO_BYTES,
  origin: NO_BYTES,
  suffix: NO_BYTES,
  payload: NO_BYTES,
}

/** `settled`: the devices as they are saved. `timelineWant`: whose timeline is listened to. */
export function openProposal(
  settled: (id: DeviceId) => Device | undefined,
  timelineWant: Want = NO_WANTS.timeline,
): Open {
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
  const open: Open = {
    devices: new Map(),
    gone: new Set(),
    replies: [],
    feed: [],
    rows: true,
    wasSilent: false,
    parkedFor: undefined,
    mayPark: true,
    enter(at, place, via) {
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
      // An item that is read again only for its rows was parked the first time (shard S1).
      if (!incoming.isNew) return
      if (open.mayPark) deadLetters.push(toDeadLetter(incoming, { reason, detail }))
      open.parkedFor = reason
    },
    parkSender(incoming, sender, refusal) {
      if (incoming.isNew) deadLetters.push({ ...toDeadLetter(incoming, refusal), deviceId: sender })
    },
    parkRest(entry, index, detail) {
      deadLetters.push(toDeadLetter({ item: NO_ITEM, entry, index }, { reason: 'UNREADABLE', detail }))
    },
    late(deviceId, hour) {
      late.set(`${deviceId} ${hour}`, { deviceId, hour })
    },
    remember(readable, event) {
      // Written here: text crosses to the host for less than an object does.
      const row = writtenRow(readable)
      const { deviceId, at } = row
      history.push(row)
      if (isWanted(timelineWant, deviceId))
        open.feed.push({ kind: 'timeline', event, deviceId, at: toMillis(at), row })
    },
    audit: (row) => void history.push(row),
    notify: (notice) => void notices.push(notice),
    perform(effects, changed, now) {
      const told: RequestResult = { refusal: undefined, command: undefined, isForgotten: false }
      for (const effect of effects)
        performOne(effect, { open, outbound, ota, cuts, ended, moment, changed, now, told })
      return told
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
      gone: [...open.gone],
      ...toSave(open.devices.values(), (id) => (open.gone.has(id) ? undefined : settled(id))),
      deadLetters,
      late: [...late.values()],
      history,
      notices,
      replies: open.replies,
      outbound: outbound.filter((each) => isStillMeant(each, open.devices.get(each.deviceId))),
      ota,
      cuts,
      ended,
      feed: open.feed,
    }),
  }
  return open
}

interface Performing {
  readonly open: Open
  readonly outbound: Outbound[]
  readonly ota: OtaOutbound[]
  readonly cuts: DeviceId[]
  readonly ended: DeviceId[]
  readonly moment: Moment
  readonly changed: DeviceChange
  readonly now: Millis
  readonly told: RequestResult
}

function performOne(
  effect: Effect,
  { open, outbound, ota, cuts, ended, moment, changed, now, told }: Performing,
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
      told.isForgotten = true
      return
    case 'end_sessions':
      ended.push(deviceId)
      return
    case 'announce':
      open.feed.push({ kind: 'device', event: effect.event, at: now, view: changed.view() })
      if (effect.event !== 'device.updated')
        open.remember(statusRow(before, device, { ...effect, now }), effect.event)
      return
    case 'publish':
      outbound.push(...toOutbound(effect, changed, moment.via))
      return
    case 'shadow_changed':
      open.feed.push({ kind: 'shadow', event: 'shadow.updated', deviceId, at: now, change: effect.change })
      open.remember(shadowRow(deviceId, effect.change), 'shadow.updated')
      return
    case 'command_moved': {
      const row = moment.rows++
      open.feed.push({ kind: 'command', event: 'command.status', deviceId, at: now, command: effect.command })
      open.remember(commandRow(deviceId, effect.command, { ...moment, row }), 'command.status')
      return
    }
    case 'job_moved': {
      const { job, previous } = effect
      const row = moment.rows++
      open.feed.push({ kind: 'job', event: 'deployment.device', deviceId, at: now, job, previous })
      open.remember(jobRow(deviceId, effect, { ...moment, row, now }), 'deployment.device')
      return
    }
    case 'ota':
      ota.push({ deviceId, via: changed.otaVia, send: effect.send })
      return
    case 'alert_moved':
      performAlertMove(effect, {
        ...{ open, device, before, now, shown: changed.alertShown },
        place: { ...moment, row: moment.rows++ },
      })
      return
    case 'answer':
      told.command = effect.command
      return
    case 'refuse':
      told.refusal = effect
      return
    default:
      unreachable(effect)
  }
}

/** A command goes the way the device is reached, an answer the way of its question, and what is retained is kept true
 *  for the gateway as well: both may subscribe at any time. */
function toOutbound(
  { message, confirms }: Extract<Effect, { kind: 'publish' }>,
  { device, via, relay }: DeviceChange,
  asked: DeviceId | undefined,
): readonly Outbound[] {
  const to = (gateway: DeviceId | undefined) => ({ deviceId: device.id, via: gateway, message, confirms })
  if (confirms !== undefined) return [to(via)]
  if (!message.retain) return [to(asked)]
  return relay === undefined ? [to(undefined)] : [to(undefined), to(relay)]
}

/** The gateway's own message: to the device itself nothing is said any more. */
function clearDesired(deviceId: DeviceId, gateway: DeviceId): Outbound {
  const suffix = toSubSuffix(deviceId, 'shadow/desired')
  const message = { suffix, payload: NO_BYTES, qos: 1, retain: true } as const
  return { deviceId: gateway, via: undefined, message, confirms: undefined }
}

/** A command that was answered, cancelled or over before its batch was: it need not, or must not, be sent any more. */
function isStillMeant({ confirms }: Outbound, device: Device | undefined): boolean {
  if (confirms === undefined || confirms.message === 'cancel' || device === undefined) return true
  return device.commands.some(({ id, status }) => id === confirms.commandId && status === 'pending')
}

function removeFrom<Item>(items: Item[], isMeant: (item: Item) => boolean): void {
  items.splice(0, items.length, ...items.filter((item) => !isMeant(item)))
}

function toSave(
  devices: Iterable<Device>,
  settled: (id: DeviceId) => Device | undefined,
): Pick<ShardSave, 'changed' | 'parts' | 'commands'> {
  const changed: DeviceRecord[] = []
  const parts: SavedPart[] = []
  const commands: SavedCommand[] = []
  for (const device of devices) {
    const before = settled(device.id)
    if (before === undefined || isRecordMoved(before, device)) changed.push(toRecord(device))
    const kept = changesOf(before, device)
    parts.push(...kept.parts)
    commands.push(...kept.commands)
  }
  return { changed, parts, commands }
}

const BESIDE_RECORD: ReadonlySet<string> = new Set(['shadow', 'commands', 'firmware', 'alerts'])

/** Both are made of the same fields. */
function isRecordMoved(before: Device, after: Device): boolean {
  for (const name of Object.keys(after) as (keyof Device)[])
    if (before[name] !== after[name] && !BESIDE_RECORD.has(name)) return true
  return false
}

function toPositions(seqs: ReadonlyMap<Partition, number>): readonly Position[] {
  return [...seqs].map(([partition, seq]) => ({ partition, seq }))
}

export function toDeadLetter(
  { item, entry, index }: Pick<Incoming, 'item' | 'entry' | 'index'>,
  { reason, detail }: { readonly reason: string; readonly detail: string },
): DeadLetter {
  // Written by the ingress from a valid device id.
  const deviceId = Buffer.from(item.id).toString('latin1') as DeviceId
  const suffix = Buffer.from(item.suffix).toString('utf8')
  const gateway = viaOf(item)
  const forbidden = forbiddenTopic(suffix)
  return {
    id: `dl_${entry.partition}_${entry.seq}_${index}`,
    deviceId,
    topic:
      forbidden ??
      (gateway === undefined ? topicOf(deviceId, suffix) : topicOf(gateway, toSubSuffix(deviceId, suffix))),
    reason,
    detail,
    // A copy: the item is a view of its whole commit.
    payload: Uint8Array.from(item.payload.subarray(0, LIMITS.deadLetterPayloadBytesMax)),
    payloadBytes: item.payload.length,
    receivedAt: item.receivedAt,
  }
}

/** The gateway that a message came through. */
export function viaOf({ via }: Item): DeviceId | undefined {
  // Written by the ingress from a valid device id.
  return via.length === 0 ? undefined : (Buffer.from(via).toString('latin1') as DeviceId)
}
