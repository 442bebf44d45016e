// Which messages go to a device, and by which way.
import type { DeviceId } from '../../../schemas/ids.ts'
import { toSubSuffix } from '../../../schemas/topics.ts'
import type { Effect } from '../../domain/device/events.ts'
import type { Device } from '../../domain/device/record.ts'
import type { Outbound } from './protocol.ts'

/** How a device is reached. */
interface ReachedDevice {
  readonly device: Device
  /** The gateway that its commands go through. */
  readonly via: DeviceId | undefined
  /** The gateway that is connected and speaks for it. */
  readonly relay: DeviceId | undefined
}

const NO_BYTES = new Uint8Array(0)

/** A command goes to the gateway or the device, whichever is reached, and an answer goes back to whoever asked. Retained
 *  messages are kept up to date for both, because either may subscribe at any time. */
export function toOutbound(
  { message, confirms }: Extract<Effect, { kind: 'publish' }>,
  { device, via, relay }: ReachedDevice,
  asked: DeviceId | undefined,
): readonly Outbound[] {
  const to = (gateway: DeviceId | undefined) => ({ deviceId: device.id, via: gateway, message, confirms })
  if (confirms !== undefined) return [to(via)]
  if (!message.retain) return [to(asked)]
  return relay === undefined ? [to(undefined)] : [to(undefined), to(relay)]
}

/** Clears the message retained for the gateway. Sent to the gateway itself, as nothing more is sent to the device. */
export function clearDesired(deviceId: DeviceId, gateway: DeviceId): Outbound {
  const suffix = toSubSuffix(deviceId, 'shadow/desired')
  const message = { suffix, payload: NO_BYTES, qos: 1, retain: true } as const
  return { deviceId: gateway, via: undefined, message, confirms: undefined }
}

/** Whether the message should still be sent. A command may have been answered, cancelled or expired in the same batch. */
export function isStillDue({ confirms }: Outbound, device: Device | undefined): boolean {
  if (confirms === undefined || confirms.message === 'cancel' || device === undefined) return true
  return device.commands.some(({ id, status }) => id === confirms.commandId && status === 'pending')
}
