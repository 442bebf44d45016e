// A batch in the making: everything it would change or ask for, kept apart from what is settled (S2).
import { Buffer } from 'node:buffer'
import { type DeviceId, Micros, type Millis, type Partition } from '../../schemas/ids.ts'
import { topicOf } from '../../schemas/topics.ts'
import { FRAME, type Frame } from '../domain/bundle.ts'
import type { Effect } from '../domain/device/events.ts'
import type { Device } from '../domain/device/record.ts'
import type { HistoryMark } from '../domain/history/columns.ts'
import { type HistoryRow, type WrittenRow, writtenRow } from '../domain/history/row.ts'
import type { Mark as ColumnsMark } from '../domain/telemetry/columns.ts'
import { unreachable } from '../domain/unreachable.ts'
import { LIMITS } from '../limits.ts'
import type { DeviceView } from '../ports/engine.ts'
import type { FeedEvent } from '../ports/feed.ts'
import type { Entry } from '../ports/log.ts'
import type { DeadLetter, LateHour } from '../ports/store.ts'
import type { Mark, Proposal, Reply, ShardCounts } from './protocol.ts'
import type { Place } from './shard.ts'

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
  }
}

/** How far rows were collected, before they are decided on. */
export interface RowsMark {
  readonly columns: ColumnsMark
  readonly history: HistoryMark
}

/** A device after an event, and the record it had before; none if it is new. */
export interface Changed {
  readonly view: DeviceView
  readonly before: Device | undefined
}

export interface Open {
  /** The next record of each device that changes. */
  readonly devices: Map<DeviceId, Device>
  readonly replies: Reply[]
  readonly feed: FeedEvent[]
  mark: RowsMark | undefined
  rows: boolean
  /** Set by a message that is no sign of life, until it has been looked at. */
  wasSilent: boolean
  reach(entry: Entry, isNew: boolean): void
  reached(): readonly Mark[]
  park(frame: Frame, place: Place, reason: string, detail: string): void
  /** From this message on the entry cannot be read. */
  parkRest(entry: Entry, index: number, detail: string): void
  late(deviceId: DeviceId, hour: number): void
  /** A row of the history that follows from a changed record: it is saved with it. */
  remember(row: HistoryRow): void
  perform(effects: readonly Effect[], changed: Changed, now: Millis): Effect | undefined
  proposal(): Proposal
}

const NO_BYTES = new Uint8Array(0)
const NO_FRAME: Frame = {
  kind: FRAME.parked,
  flags: 0,
  receivedAt: 0,
  id: NO_BYTES,
  suffix: NO_BYTES,
  payload: NO_BYTES,
}

export function openProposal(): Open {
  const reached = new Map<Partition, number>()
  const applied = new Map<Partition, number>()
  const deadLetters: DeadLetter[] = []
  const late = new Map<string, LateHour>()
  const cuts: DeviceId[] = []
  const history: WrittenRow[] = []
  const open: Open = {
    devices: new Map(),
    replies: [],
    feed: [],
    mark: undefined,
    rows: true,
    wasSilent: false,
    reach(entry, isNew) {
      reached.set(entry.partition, entry.seq)
      if (isNew) applied.set(entry.partition, entry.seq)
    },
    reached: () => toMarks(reached),
    park(frame, place, reason, detail) {
      // Read again only for its rows (S1): it was parked the first time.
      if (place.isNew) deadLetters.push(toDeadLetter(frame, { ...place, reason, detail }))
    },
    parkRest(entry, index, detail) {
      deadLetters.push(toDeadLetter(NO_FRAME, { entry, index, reason: 'UNREADABLE', detail }))
    },
    late(deviceId, hour) {
      late.set(`${deviceId} ${hour}`, { deviceId, hour })
    },
    remember(row) {
      // Written here: text crosses to the host for less than an object does.
      history.push(writtenRow(row))
    },
    perform(effects, { view, before }, now) {
      let refusal: Effect | undefined
      for (const effect of effects) {
        if (effect.kind === 'cut') cuts.push(view.device.id)
        else if (effect.kind === 'announce') {
          open.feed.push({ kind: 'device', event: effect.event, at: now, view })
          if (effect.event === 'device.status' && before !== undefined)
            open.remember(statusMoved(before, view.device, now))
        } else if (effect.kind === 'refuse') refusal = effect
        else unreachable(effect)
      }
      return refusal
    },
    proposal: () => ({
      applied: toMarks(applied),
      changed: [...open.devices.values()],
      deadLetters,
      late: [...late.values()],
      history,
      replies: open.replies,
      cuts,
      feed: open.feed,
    }),
  }
  return open
}

/** One row per move, in the order of the moves: a sweep may be ahead of a message that came before it. */
function statusMoved(
  before: Device,
  { id, status, statusReason, revision }: Device,
  now: Millis,
): HistoryRow {
  return {
    deviceId: id,
    kind: 'status',
    at: Micros(Math.max(now, before.statusSince) * 1000),
    version: revision,
    body: { from: before.status, to: status, reason: statusReason ?? null },
  }
}

function toMarks(seqs: ReadonlyMap<Partition, number>): readonly Mark[] {
  return [...seqs].map(([partition, seq]) => ({ partition, seq }))
}

export function toDeadLetter(
  frame: Frame,
  about: {
    readonly entry: Entry
    readonly index: number
    readonly reason: string
    readonly detail: string
  },
): DeadLetter {
  const { entry, index, reason, detail } = about
  // Written by the ingress from a valid device id.
  const deviceId = Buffer.from(frame.id).toString('latin1') as DeviceId
  return {
    id: `dl_${entry.partition}_${entry.seq}_${index}`,
    deviceId,
    topic: topicOf(deviceId, Buffer.from(frame.suffix).toString('utf8')),
    reason,
    detail,
    // A copy: the frame is a view of its whole commit.
    payload: Uint8Array.from(frame.payload.subarray(0, LIMITS.deadLetterPayloadBytesMax)),
    payloadBytes: frame.payload.length,
    // Written by the ingress.
    receivedAt: frame.receivedAt as Micros,
  }
}
