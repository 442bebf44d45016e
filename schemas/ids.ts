// Branded ids and times, used everywhere. Has no dependencies, because device-side code imports it too.

declare const brand: unique symbol
export type Brand<T, Name extends string> = T & { readonly [brand]: Name }

export type DeviceId = Brand<string, 'DeviceId'>
export type UserId = Brand<string, 'UserId'>
/** Named `request_id` on MQTT. */
export type CommandId = Brand<string, 'CommandId'>
export type BroadcastId = Brand<string, 'BroadcastId'>
export type AlertId = Brand<string, 'AlertId'>
export type RuleId = Brand<string, 'RuleId'>
export type ChannelId = Brand<string, 'ChannelId'>
export type FirmwareId = Brand<string, 'FirmwareId'>
export type DeploymentId = Brand<string, 'DeploymentId'>
/** One of the fixed slices of the log. A device never changes its partition. */
export type Partition = Brand<number, 'Partition'>
/** Milliseconds since 1970, UTC. */
export type Millis = Brand<number, 'Millis'>
/** Microseconds since 1970, UTC. Exact in a double until the year 2255. */
export type Micros = Brand<number, 'Micros'>

/** `.`, `*` and `>` are excluded because NATS subjects give them a meaning, `/ + # $` because MQTT does. */
const DEVICE_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

export function parseDeviceId(text: unknown): DeviceId | undefined {
  // The pattern defines the brand.
  return typeof text === 'string' && DEVICE_ID.test(text) ? (text as DeviceId) : undefined
}

// One function per brand lets a raw value in.
export const Millis = (value: number): Millis => value as Millis
export const Micros = (value: number): Micros => value as Micros
export const Partition = (value: number): Partition => value as Partition
export const UserId = (value: string): UserId => value as UserId
export const CommandId = (value: string): CommandId => value as CommandId
export const BroadcastId = (value: string): BroadcastId => value as BroadcastId
export const AlertId = (value: string): AlertId => value as AlertId
export const RuleId = (value: string): RuleId => value as RuleId
export const ChannelId = (value: string): ChannelId => value as ChannelId
export const FirmwareId = (value: string): FirmwareId => value as FirmwareId
export const DeploymentId = (value: string): DeploymentId => value as DeploymentId
export const toMillis = (at: Micros): Millis => Math.floor(at / 1000) as Millis

/** ISO 8601 in UTC with milliseconds, as REST, MQTT and /ws print times. */
export function toIso(at: Millis): string {
  return new Date(at).toISOString()
}
