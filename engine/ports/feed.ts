// The feed tells `/ws` and other listeners what changed, after a batch is settled.
import type { DeviceId, Millis } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { ChannelState } from '../../schemas/vocabulary.ts'
import type { Channel } from '../domain/alert/channel.ts'
import type { Command } from '../domain/command/record.ts'
import type { WrittenHistory, WrittenRow } from '../domain/history/row.ts'
import type { Job } from '../domain/ota/job.ts'
import type { ShadowChange } from '../domain/shadow/record.ts'
import type { DeviceView } from './device-view.ts'
import type { DeadLetter } from './store.ts'

/** Stands for the fleet in what is about no single device. No device can have this id. */
export const FLEET = '$fleet' as DeviceId

export type FeedEvent =
  | {
      readonly kind: 'device'
      readonly event: 'device.registered' | 'device.status' | 'device.updated' | 'device.connectivity'
      readonly at: Millis
      readonly view: DeviceView
    }
  | {
      readonly kind: 'telemetry'
      readonly deviceId: DeviceId
      /** Event time of the report. */
      readonly at: Millis
      /** The report's fields, nested as the device sent them, without its timestamp. */
      readonly data: JsonObject
      /** Where the log has it: a snapshot that reaches this seq shows it. */
      readonly seq: number
    }
  | {
      readonly kind: 'shadow'
      readonly event: 'shadow.updated'
      readonly deviceId: DeviceId
      readonly at: Millis
      readonly change: ShadowChange
    }
  | {
      readonly kind: 'command'
      readonly event: 'command.status'
      readonly deviceId: DeviceId
      readonly at: Millis
      /** The command after the change. */
      readonly command: Command
    }
  | {
      /** A job of a deployment moved, or its progress did. */
      readonly kind: 'job'
      readonly event: 'deployment.device'
      readonly deviceId: DeviceId
      readonly at: Millis
      /** The job after the change. */
      readonly job: Job
      /** Its status before; undefined if it is new. */
      readonly previous: Job['status'] | undefined
    }
  | {
      readonly kind: 'alert'
      /** `alert.pending`: a condition counts its `for_sec`. It is no alert yet, and nothing is kept of it. */
      readonly event: AlertEvent | 'alert.pending'
      /** `FLEET` if it is about no single device. */
      readonly deviceId: DeviceId
      readonly at: Millis
      /** The alert after the move, as REST shows it but for its link. */
      readonly alert: JsonObject
    }
  | {
      /** A channel of alerts began to fail, works again, or was given up. */
      readonly kind: 'alert_channel'
      readonly event: 'channel.state'
      /** It is about no device. */
      readonly deviceId: typeof FLEET
      readonly at: Millis
      /** The channel after the change. */
      readonly channel: ChannelNews
    }
  | AuditEvent
  | {
      /** A row of the device's timeline, as the history has it. */
      readonly kind: 'timeline'
      readonly event: TimelineEvent
      readonly deviceId: DeviceId
      readonly at: Millis
      readonly row: WrittenHistory
    }
  | {
      /** A line of the device's log. */
      readonly kind: 'log'
      readonly event: 'device.log'
      readonly deviceId: DeviceId
      /** The device's own time. */
      readonly at: Millis
      readonly row: WrittenHistory
    }

/** What only admins hear. */
export type AuditEvent =
  | {
      /** An entry of the audit, once it is saved. */
      readonly kind: 'audit'
      readonly event: 'audit.recorded'
      /** `FLEET` if it is about no device. A device of this id need not exist. */
      readonly deviceId: DeviceId
      readonly at: Millis
      readonly row: WrittenRow
    }
  | {
      /** A message of a device that could not be used. */
      readonly kind: 'dead_letter'
      readonly event: 'dead_letter.added'
      readonly deviceId: DeviceId
      readonly at: Millis
      readonly letter: DeadLetter
    }

/** What everybody may know of a channel: its address and its errors are for admins. */
export type ChannelNews = Pick<Channel, 'id' | 'name' | 'severity' | 'group'> & {
  readonly type: Channel['target']['kind']
  readonly state: ChannelState
}

export type TimelineEvent =
  | 'device.registered'
  | 'device.status'
  | 'command.status'
  | 'shadow.updated'
  | 'deployment.device'
  | AlertEvent

export type AlertEvent =
  | 'alert.fired'
  | 'alert.severity'
  | 'alert.acknowledged'
  | 'alert.resolved'
  | 'alert.updated'

/** The devices that somebody wants to hear about. */
export interface Want {
  readonly all: boolean
  readonly devices: ReadonlySet<DeviceId>
}

/** Kinds of events that are made only while somebody wants them: there are many, or another kind says the same. */
export type WantedKind = 'telemetry' | 'timeline' | 'log'
export type Wants = Readonly<Record<WantedKind, Want>>

export interface Feed {
  /** Calls the listener after a batch is settled (R4), in order per device. Returns what stops it. */
  listen(listener: (events: readonly FeedEvent[]) => void): () => void
  /** Replaces what was wanted before; nothing is wanted at the start. */
  want(wants: Wants): void
}
