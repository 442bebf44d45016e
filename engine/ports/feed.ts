// The feed: what the engine tells `/ws` and whoever else listens, after a batch is settled.
import type { DeviceId, Millis } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Command } from '../domain/command/record.ts'
import type { ShadowChange } from '../domain/shadow/record.ts'
import type { DeviceView } from './engine.ts'

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

export interface Feed {
  /** Called after a batch is settled (R4), in order per device. Returns the way to stop. */
  listen(listener: (events: readonly FeedEvent[]) => void): () => void
  /** Whose telemetry is worth making events of. Replaces the earlier wish; nobody's at start. */
  want(telemetry: { readonly all: boolean; readonly devices: ReadonlySet<DeviceId> }): void
}
