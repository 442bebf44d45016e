// The events that a device actor receives, and the effects that it asks for.
import type { AlertId, CommandId, Millis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { RefusalCode } from '../../../schemas/refusals.ts'
import type { AlertAct } from '../alert/acts.ts'
import type { Move } from '../alert/decide.ts'
import type { Ack } from '../command/ack-message.ts'
import type { CommandRequest } from '../command/create.ts'
import type { SendKind } from '../command/messages.ts'
import type { Command } from '../command/record.ts'
import type { DownlinkMessage } from '../downlink.ts'
import type { DdiAct } from '../ota/ddi.ts'
import type { Job } from '../ota/job.ts'
import type { OtaSend } from '../ota/job-messages.ts'
import type { StatusReport } from '../ota/job-sessions.ts'
import type { Author, ShadowChange } from '../shadow/record.ts'
import type { NamedFault } from '../telemetry/diagnostics.ts'
import type { OtaEvent, OtaRequest } from './ota-requests.ts'
import type { Device } from './record.ts'
import type { Cause } from './status.ts'

/** A REST request that changes a device. It travels through the log like a device's messages (R1). */
export type DeviceRequest =
  | {
      readonly kind: 'register'
      readonly name: string
      readonly type: string
      readonly description?: string | undefined
      readonly group?: string | undefined
      readonly tags?: readonly string[] | undefined
      readonly metadata?: JsonObject | undefined
      readonly parentId?: string | undefined
      readonly heartbeatTimeoutSec?: number | undefined
      readonly idempotencyKey?: string | undefined
    }
  | {
      readonly kind: 'edit'
      /** The fields form a merge patch. With `replace` (PUT), fields that the patch does not name are emptied first. */
      readonly replace: boolean
      readonly name?: string | undefined
      readonly description?: string | null | undefined
      readonly group?: string | null | undefined
      readonly tags?: readonly string[] | null | undefined
      /** Tags to be added to or removed from those that the device has at that time. */
      readonly tagsAdd?: readonly string[] | undefined
      readonly tagsRemove?: readonly string[] | undefined
      readonly metadata?: JsonObject | null | undefined
      readonly heartbeatTimeoutSec?: number | null | undefined
      readonly status?: string | undefined
      readonly statusReason?: string | undefined
      readonly ifRevision?: number | undefined
    }
  | {
      readonly kind: 'decommission'
      readonly reason?: string | undefined
      /** If left out, the request concerns whichever device has the id. */
      readonly createdAt?: Millis | undefined
      readonly ifRevision?: number | undefined
    }
  /** Decommissions the device and removes everything about it. `createdAt` distinguishes it from a later device with the
   *  same id. */
  | { readonly kind: 'purge'; readonly createdAt: Millis }
  /** Voids every token issued to the device. */
  | { readonly kind: 'revoke'; readonly ifRevision?: number | undefined }
  | {
      readonly kind: 'desire'
      readonly patch: JsonObject
      readonly mode: 'merge' | 'replace'
      readonly expectedVersion?: number | undefined
      readonly requestId?: string | undefined
    }
  /** `wish` is the name of this key in the log, so it stays. */
  | { readonly kind: 'command'; readonly id: CommandId; readonly wish: CommandRequest }
  | { readonly kind: 'cancel'; readonly id: CommandId }
  | OtaRequest
  /** A request of the device itself over hawkBit's device API. Each is a sign of life. */
  | { readonly kind: 'ddi'; readonly act: DdiAct }
  | { readonly kind: 'alert'; readonly id: AlertId; readonly act: AlertAct }

export type DeviceEvent =
  | { readonly kind: 'heard'; readonly seenAt: Millis }
  /** The heartbeat timeout passed without a sign of life. */
  | { readonly kind: 'silent'; readonly seenAt: Millis }
  /** The device or its last will announced that it disconnects. */
  | { readonly kind: 'left'; readonly reason: string; readonly seenAt: Millis }
  /** The device reported faults, at least one, the worst first. */
  | { readonly kind: 'diagnosed'; readonly faults: readonly NamedFault[] }
  | { readonly kind: 'recovered' }
  /** The device described itself: what it runs, for example. */
  | { readonly kind: 'described'; readonly report: DescribedDevice }
  | { readonly kind: 'requested'; readonly request: DeviceRequest; readonly by: Author }
  | {
      readonly kind: 'reported'
      readonly patch: JsonObject
      readonly expectedVersion: number | undefined
      readonly clientToken: string | undefined
      readonly messageId: string
    }
  /** The device sent `shadow/get` or published on `shadow/desired`, or has a new session. */
  | {
      readonly kind: 'shadow_wanted'
      readonly part: 'document' | 'desired'
      /** Repeated in the answer. */
      readonly clientToken?: string | undefined
    }
  | { readonly kind: 'acked'; readonly ack: Ack }
  /** An answer that cannot be parsed, with the command ids found in it. */
  | { readonly kind: 'acked_unreadably'; readonly ids: ReadonlySet<string>; readonly detail: string }
  /** The broker received the device's PUBACK. */
  | { readonly kind: 'delivered'; readonly commandId: CommandId; readonly message: SendKind }
  /** The deadline of the device's commands has come. */
  | { readonly kind: 'overdue' }
  | OtaEvent

export interface DescribedDevice extends StatusReport {
  readonly bootId: string | undefined
}

export interface Confirmation {
  readonly commandId: CommandId
  readonly message: SendKind
  /** The message must not be sent after this time, because the save before it may take long. */
  readonly expiresAt: Millis
}

export type Effect =
  | {
      readonly kind: 'refuse'
      readonly code: RefusalCode
      readonly detail: Readonly<Record<string, unknown>>
    }
  /** Credentials are void from now on: live sessions are ended and retained topics cleared. */
  | { readonly kind: 'cut' }
  /** Everything about the device is removed, and its id is free again. */
  | { readonly kind: 'forget' }
  /** Ends live sessions. The device may reconnect with credentials that are still valid. */
  | { readonly kind: 'end_sessions' }
  | {
      readonly kind: 'publish'
      readonly message: DownlinkMessage
      /** Set if the PUBACK of this message, which belongs to a command, becomes an event of the device. */
      readonly confirms?: Confirmation
    }
  /** Announced as `shadow.updated`, and written to the shadow's history. */
  | { readonly kind: 'shadow_changed'; readonly change: ShadowChange }
  /** Announced as `command.status`, and written to the command's history. */
  | { readonly kind: 'command_moved'; readonly command: Command }
  /** Announced as `deployment.device`, and written to the timeline. */
  | { readonly kind: 'job_moved'; readonly job: Job; readonly previous: Job['status'] | undefined }
  /** A message about firmware, whose PUBACK becomes an event of the device. */
  | { readonly kind: 'ota'; readonly send: OtaSend }
  /** Announced and written to the timeline. A notice is queued if the move is to be notified. */
  | { readonly kind: 'alert_moved'; readonly move: Move; readonly by?: Author | undefined }
  /** The answer to the caller of the request. */
  | { readonly kind: 'answer'; readonly command: Command }
  | { readonly kind: 'announce'; readonly event: 'device.updated' }
  /** Announced, and written to the device's timeline. */
  | {
      readonly kind: 'announce'
      readonly event: 'device.registered' | 'device.status'
      readonly cause: Cause | 'register'
      /** Left out if the device caused it by a message or by silence. */
      readonly by?: Author | undefined
    }

export interface Outcome {
  readonly device: Device
  readonly effects: readonly Effect[]
}
