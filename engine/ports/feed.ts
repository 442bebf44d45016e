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

/** Stands in for the device id where an event concerns no single device. No device can have this id. */
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
      /** Position in the log. A snapshot whose `seq` is at least this already includes the report. */
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
      /** The status or the progress of a deployment's job changed. */
      readonly kind: 'job'
      readonly event: 'deployment.device'
      readonly deviceId: DeviceId
      readonly at: Millis
      /** The job after the change. */
      readonly job: Job
      /** The previous status; undefined if the job is new. */
      readonly previous: Job['status'] | undefined
    }
  | {
      readonly kind: 'alert'
      /** `alert.pending`: a condition holds, but not yet for its `for_sec`. There is no alert yet, and nothing is
       *  stored. */
      readonly event: AlertEvent | 'alert.pending'
      /** `FLEET` if the alert concerns no single device. */
      readonly deviceId: DeviceId
      readonly at: Millis
      /** The alert after the change, as REST shows it except for its link. */
      readonly alert: JsonObject
    }
  | {
      /** An alert channel started to fail, recovered, or was given up. */
      readonly kind: 'alert_channel'
      readonly event: 'channel.state'
      /** Always `FLEET`, because a channel concerns no device. */
      readonly deviceId: typeof FLEET
      readonly at: Millis
      /** The channel after the change. */
      readonly channel: PublicChannel
    }
  | AuditEvent
  | {
      /** A row of the device's timeline, as the history stores it. */
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
      /** Time by the device's own clock. */
      readonly at: Millis
      readonly row: WrittenHistory
    }

/** Events that only admins receive. */
export type AuditEvent =
  | {
      /** An entry of the audit, once it is saved. */
      readonly kind: 'audit'
      readonly event: 'audit.recorded'
      /** `FLEET` if the entry concerns no device. The device named need not exist. */
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

/** The part of a channel that everyone may see. Its address and its errors are for admins only. */
export type PublicChannel = Pick<Channel, 'id' | 'name' | 'severity' | 'group'> & {
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

/** The devices that some listener wants events of. */
export interface Want {
  readonly all: boolean
  readonly devices: ReadonlySet<DeviceId>
}

/** Kinds of events that are only produced while somebody wants them, because they are many or repeat events of another
 *  kind. */
export type WantedKind = 'telemetry' | 'timeline' | 'log'
export type Wants = Readonly<Record<WantedKind, Want>>

export interface Feed {
  /** Calls the listener after a batch is settled (R4), in order per device, and `missed` if events of other nodes were lost on
   *  their way. Returns a function that stops both. */
  listen(listener: (events: readonly FeedEvent[]) => void, missed?: () => void): () => void
  /** Replaces the previous wants. Initially nothing is wanted. */
  want(wants: Wants): void
}
