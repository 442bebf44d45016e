// What the API layer asks of the engine, and what the engine stands on. Nothing here knows HTTP, sockets or settings
// files.
import type { DeviceId, Millis } from '../../schemas/ids.ts'
import type { RefusalCode } from '../../schemas/refusals.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import type { Device, JsonObject } from '../domain/device/record.ts'
import type { Broker } from './broker.ts'
import type { Clock } from './clock.ts'
import type { Feed } from './feed.ts'
import type { History } from './history.ts'
import type { Log } from './log.ts'
import type { Store } from './store.ts'
import type { Bucket, BucketQuery, Telemetry } from './telemetry.ts'
import type { Users } from './users.ts'

/** A device as users see it: its record and what is only known live. */
export interface DeviceView {
  readonly device: Device
  readonly connected: boolean
  /** When it last connected or disconnected. */
  readonly connectedSince: Millis | undefined
  readonly connectionReason: string | undefined
  readonly sessionId: string | undefined
  readonly ip: string | undefined
  readonly lastSeenAt: Millis | undefined
  readonly lastTelemetryAt: Millis | undefined
}

/** The latest telemetry: nested as reported, each field at its newest value by event time. */
export interface Snapshot {
  readonly data: JsonObject
  readonly timestamp: Millis | undefined
}

export type Submitted =
  | { readonly kind: 'done'; readonly view: DeviceView }
  | {
      readonly kind: 'refused'
      readonly code: RefusalCode
      readonly detail: Readonly<Record<string, unknown>>
    }

export interface DependencyHealth {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}

export interface Engine extends History {
  /** Changes a device. Resolves after the change is durable and applied; a `Fault` means "nothing is known to
   *  have happened, try later". */
  submit(deviceId: DeviceId, request: DeviceRequest, by: string): Promise<Submitted>
  /** Sees every message acknowledged before the call. */
  view(deviceId: DeviceId): Promise<DeviceView | undefined>
  views(deviceIds: readonly DeviceId[]): Promise<readonly (DeviceView | undefined)[]>
  /** Sees every message acknowledged before the call; undefined if there is no such device. */
  snapshot(deviceId: DeviceId): Promise<Snapshot | undefined>
  buckets(query: Omit<BucketQuery, 'lateHours'>): Promise<readonly Bucket[]>
  readonly store: Store
  readonly users: Users
  readonly feed: Feed
  /** Prometheus text, all threads together. */
  metrics(): Promise<string>
  health(): readonly DependencyHealth[]
  /** Where devices connect, once open. */
  mqttUrl(): string
  /** Stops taking messages, finishes what was taken, and closes everything. */
  close(): Promise<void>
}

export interface Ports {
  readonly clock: Clock
  readonly log: Log
  readonly store: Store
  readonly users: Users
  readonly telemetry: Telemetry
  readonly broker: Broker
}
