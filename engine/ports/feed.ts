// The feed: what the engine tells `/ws` and whoever else listens, after a batch is settled.
import type { DeviceId, Millis } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Command } from '../domain/command/record.ts'
import type { WrittenHistory } from '../domain/history/row.ts'
import type { ShadowChange } from '../domain/shadow/record.ts'
import type { DeviceView } from './device-view.ts'

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
      /** As it is from now on. */
      readonly command: Command
    }
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
      /** As the device says. */
      readonly at: Millis
      readonly row: WrittenHistory
    }

export type TimelineEvent = 'device.registered' | 'device.status' | 'command.status' | 'shadow.updated'

/** Of which devices. */
export interface Want {
  readonly all: boolean
  readonly devices: ReadonlySet<DeviceId>
}

/** What is made only while somebody listens: there is much of it, or it is told already in another form. */
export type WantedKind = 'telemetry' | 'timeline' | 'log'
export type Wants = Readonly<Record<WantedKind, Want>>

export interface Feed {
  /** Called after a batch is settled (R4), in order per device. Returns the way to stop. */
  listen(listener: (events: readonly FeedEvent[]) => void): () => void
  /** Replaces the earlier wish; nothing is wanted at start. */
  want(wants: Wants): void
}
