// What a device actor is told, and what it asks for.
import type { Millis } from '../../../schemas/ids.ts'
import type { RefusalCode } from '../../../schemas/refusals.ts'
import type { Device, JsonObject } from './record.ts'

/** A REST request that changes a device. It travels through the log like a device's message (R1). */
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
    }
  | {
      readonly kind: 'edit'
      /** A merge patch; `replace` first empties what it does not name (PUT). */
      readonly replace: boolean
      readonly name?: string | undefined
      readonly description?: string | null | undefined
      readonly group?: string | null | undefined
      readonly tags?: readonly string[] | null | undefined
      readonly metadata?: JsonObject | null | undefined
      readonly status?: string | undefined
      readonly statusReason?: string | undefined
      readonly ifRevision?: number | undefined
    }
  | { readonly kind: 'decommission'; readonly reason?: string | undefined }

export type DeviceEvent =
  | { readonly kind: 'heard'; readonly seenAt: Millis }
  /** The heartbeat timeout passed without a sign of life. */
  | { readonly kind: 'silent'; readonly seenAt: Millis }
  /** The device, or its last will, says it is gone. */
  | { readonly kind: 'left'; readonly reason: string; readonly seenAt: Millis }
  | { readonly kind: 'diagnosed'; readonly fault: string }
  | { readonly kind: 'recovered' }
  | { readonly kind: 'described'; readonly firmwareVersion: string }
  | { readonly kind: 'requested'; readonly request: DeviceRequest; readonly by: string }

export type Effect =
  | {
      readonly kind: 'refuse'
      readonly code: RefusalCode
      readonly detail: Readonly<Record<string, unknown>>
    }
  /** Credentials are void from now on: end live sessions, clear retained topics. */
  | { readonly kind: 'cut' }
  | { readonly kind: 'announce'; readonly event: 'device.registered' | 'device.status' | 'device.updated' }

export interface Outcome {
  readonly device: Device
  readonly effects: readonly Effect[]
}
