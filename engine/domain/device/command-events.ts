// The events of a device's commands, as outcomes of its actor.
import type { Millis } from '../../../schemas/ids.ts'
import { createCommand } from '../command/create.ts'
import {
  abandonCommands,
  acknowledge,
  cancelCommand,
  expireCommands,
  markDelivered,
  noteUnreadable,
  trimCommands,
} from '../command/lifecycle.ts'
import type { CommandsChange } from '../command/record.ts'
import { commandsDeadline, type SendContext, sendDue } from '../command/send-order.ts'
import { isUpdating as isUpdatingFirmware } from '../ota/firmware-jobs.ts'
import type { DeviceEvent, DeviceRequest, Effect, Outcome } from './events.ts'
import type { Device, DownlinkRoute } from './record.ts'

export function requestCommand(
  device: Device,
  { id, wish: request }: Extract<DeviceRequest, { kind: 'command' }>,
  { by, now }: { readonly by: string; readonly now: Millis },
): Outcome {
  const outcome = createCommand(device.commands, request, { id, by, now })
  if (outcome.kind === 'refused') return refused(device, outcome)
  const reply: Effect = { kind: 'answer', command: outcome.command }
  if (outcome.kind === 'repeated') return { device, effects: [reply] }
  return apply(device, outcome, now, [reply])
}

export function requestCancel(
  device: Device,
  { id }: Extract<DeviceRequest, { kind: 'cancel' }>,
  { by, now }: { readonly by: string; readonly now: Millis },
): Outcome {
  const outcome = cancelCommand(device.commands, id, { now, by })
  if (outcome.kind === 'refused') return refused(device, outcome)
  return apply(device, outcome, now, [{ kind: 'answer', command: outcome.command }])
}

export function applyAck(
  device: Device,
  { ack }: Extract<DeviceEvent, { kind: 'acked' }>,
  now: Millis,
): Outcome {
  const outcome = acknowledge(device.commands, ack, now)
  return outcome.kind === 'ignored' ? { device, effects: [] } : apply(device, outcome, now)
}

export function noteUnreadableAck(
  device: Device,
  { ids, detail: why }: Extract<DeviceEvent, { kind: 'acked_unreadably' }>,
  now: Millis,
): Outcome {
  return apply(device, noteUnreadable(device.commands, { ids, why, now }), now)
}

export function applyDelivery(
  device: Device,
  { commandId: id, message: kind }: Extract<DeviceEvent, { kind: 'delivered' }>,
  now: Millis,
): Outcome {
  return apply(device, markDelivered(device.commands, { id, kind, now }), now)
}

export function expire(device: Device, now: Millis): Outcome {
  return apply(device, expireCommands(device.commands, now), now)
}

export function abandon(device: Device, options: { readonly now: Millis; readonly by: string }): Outcome {
  return apply(device, abandonCommands(device.commands, options), options.now)
}

/** Runs after every event. The session through which the device takes commands is a vital, so the shard passes it in. */
export function sendCommands(
  device: Device,
  { way: route, now }: { readonly way: DownlinkRoute | undefined; readonly now: Millis },
): Outcome {
  const { commands, sends } = sendDue(device.commands, sendContext(device, route, now))
  if (sends.length === 0) return { device, effects: [] }
  return {
    device: { ...device, commands },
    effects: sends.map(({ kind, command: { id, expiresAt, notice }, message }) => ({
      kind: 'publish',
      message,
      confirms: {
        commandId: id,
        message: kind,
        expiresAt: kind === 'cancel' && notice !== undefined ? notice.expiresAt : expiresAt,
      },
    })),
  }
}

export function commandDeadline(device: Device, route: DownlinkRoute | undefined, now: Millis): number {
  return commandsDeadline(device.commands, sendContext(device, route, now))
}

function sendContext(
  { status, firmware }: Device,
  route: DownlinkRoute | undefined,
  now: Millis,
): SendContext {
  const isUpdating = firmware.jobs.length > 0 && isUpdatingFirmware(firmware)
  return { session: route?.session, isRelayed: route?.via !== undefined, isUpdating, status, now }
}

function apply(
  device: Device,
  { commands, changed }: CommandsChange,
  now: Millis,
  more: readonly Effect[] = [],
): Outcome {
  const trimmed = trimCommands(commands, now)
  const effects = [...more, ...changed.map((moved): Effect => ({ kind: 'command_moved', command: moved }))]
  return { device: trimmed === device.commands ? device : { ...device, commands: trimmed }, effects }
}

function refused(
  device: Device,
  { code, detail }: Omit<Extract<Effect, { kind: 'refuse' }>, 'kind'>,
): Outcome {
  return { device, effects: [{ kind: 'refuse', code, detail }] }
}
