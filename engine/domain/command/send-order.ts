// Which commands to send next, and when to look again.
//
// L1. A command is not sent after it expired or was cancelled, nor to a device in maintenance. One that is cancelled
//     before it was ever sent therefore never reaches the device.
// L2. Urgent commands go first, the others in order of creation. Critical commands and cancel notices have a window of
//     their own, so that nothing else holds them up. A message without a PUBACK keeps its place in the window for
//     `commandRetryMs`.
// L3. A sub-device that is silent behind its gateway gets urgent commands only. The others wait until it is heard.
//
// A message is sent again, with the same `request_id`, in every new session and when its PUBACK does not come, until it
// was sent `commandAttemptsMax` times. The caller runs `sendDue` after each event of a device, saves what it returns
// and then publishes it (R4). The PUBACK comes back as an event for `delivered`.
import type { Micros, Millis } from '../../../schemas/ids.ts'
import type { CommandPriority, DeviceStatus } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import type { DownlinkMessage } from '../downlink.ts'
import { cancelMessage, commandMessage, type SendKind } from './messages.ts'
import { isOpen } from './moves.ts'
import { type Command, type Commands, type Delivery, replace } from './record.ts'

export interface SendContext {
  /** Undefined while the device has no live session. */
  readonly session: Micros | undefined
  /** True if the session is the gateway's, which may be connected while the device is not. */
  readonly isRelayed: boolean
  /** The device is installing firmware or restarting with it, so only urgent commands may disturb it. */
  readonly isUpdating: boolean
  readonly status: DeviceStatus
  readonly now: Millis
}

export interface Send {
  readonly kind: SendKind
  /** The command with this attempt counted. */
  readonly command: Command
  readonly message: DownlinkMessage
}

type DueSend = Omit<Send, 'message'>

/** The lowest rank is sent first. Ranks below `URGENT_RANKS` share the urgent window. */
const RANKS: Readonly<Record<CommandPriority, number>> = { critical: 0, high: 2, normal: 3, low: 4 }
const CANCEL_RANK = 1
const URGENT_RANKS = 2
const RANK_COUNT = 5

/** Returns the commands with this attempt counted, and the messages to publish once these are saved. */
export function sendDue(
  commands: Commands,
  state: SendContext,
): { readonly commands: Commands; readonly sends: readonly Send[] } {
  const due = dueSends(commands, state)
  if (due.length === 0) return { commands, sends: [] }
  const sends = due.map((each) => toSend(each, state))
  return {
    commands: replace(
      commands,
      sends.map(({ command }) => command),
    ).commands,
    sends,
  }
}

/** When the commands must next be looked at, infinity if never. Part of the device's next deadline (R6). */
export function commandsDeadline(commands: Commands, state: SendContext): number {
  let at = Number.POSITIVE_INFINITY
  for (const command of commands) {
    if (isOpen(command.status)) at = Math.min(at, command.expiresAt)
    const delivery = canSend(state) ? pendingSend(command, state.now)?.delivery : undefined
    if (delivery === undefined) continue
    if (isInFlight(delivery, state)) at = Math.min(at, (delivery.sentAt ?? 0) + LIMITS.commandRetryMs)
    else if (isPaced(command, state.now)) at = Math.min(at, command.notBefore ?? 0)
  }
  return at > state.now && dueSends(commands, state).length > 0 ? state.now : at
}

/** Why a pending command waits although the device is reachable. */
export function heldReason(
  { status, priority }: Command,
  deviceStatus: DeviceStatus,
  isUpdating: boolean,
): 'maintenance' | 'firmware_update' | undefined {
  if (status !== 'pending') return undefined
  if (deviceStatus === 'maintenance') return 'maintenance'
  return isUpdating && priority !== 'critical' ? 'firmware_update' : undefined
}

function dueSends(commands: Commands, state: SendContext): readonly DueSend[] {
  if (commands.length === 0 || !canSend(state)) return []
  const ranks: DueSend[][] = Array.from({ length: RANK_COUNT }, () => [])
  const room = {
    urgent: LIMITS.commandsInFlightMax,
    paced: isSilent(state) || state.isUpdating ? 0 : LIMITS.commandsInFlightMax,
  }
  let isHeld = false
  for (const command of commands) {
    const pending = pendingSend(command, state.now)
    if (pending === undefined) continue
    const rank = pending.kind === 'cancel' ? CANCEL_RANK : RANKS[command.priority]
    const isSent = isInFlight(pending.delivery, state)
    const isDue = pending.delivery.attempts < LIMITS.commandAttemptsMax && !isPaced(command, state.now)
    if (isSent) room[rank < URGENT_RANKS ? 'urgent' : 'paced']--
    else if (isDue) ranks[rank]?.push({ kind: pending.kind, command })
    isHeld ||= command.priority === 'critical' && (isSent || isDue)
  }
  const urgent = ranks.slice(0, URGENT_RANKS).flat()
  // [L2]
  const paced = isHeld ? [] : ranks.slice(URGENT_RANKS).flat()
  return [...urgent.slice(0, Math.max(0, room.urgent)), ...paced.slice(0, Math.max(0, room.paced))]
}

/** Commands are sent in any other status while the device is connected, so that an emergency stop also reaches a silent
 *  one. */
function canSend({ session, status }: SendContext): boolean {
  return session !== undefined && status !== 'maintenance' && status !== 'decommissioned'
}

/** [L3] */
function isSilent({ isRelayed, status }: SendContext): boolean {
  return isRelayed && (status === 'offline' || status === 'provisioning')
}

/** The message that the device has not confirmed and may still receive (L1). */
function pendingSend(
  { status, notice, expiresAt, delivery }: Command,
  now: Millis,
): { readonly kind: SendKind; readonly delivery: Delivery } | undefined {
  if (status === 'pending') return expiresAt > now ? { kind: 'command', delivery } : undefined
  if (notice === undefined || notice.deliveredAt !== undefined || notice.expiresAt <= now) return undefined
  return { kind: 'cancel', delivery: notice }
}

function isInFlight({ sentAt, sentIn }: Delivery, { session, now }: SendContext): boolean {
  return sentAt !== undefined && sentIn === session && sentAt + LIMITS.commandRetryMs > now
}

function isPaced({ notBefore }: Command, now: Millis): boolean {
  return notBefore !== undefined && notBefore > now
}

function toSend({ kind, command }: DueSend, { session, now }: SendContext): Send {
  const { notice, delivery } = command
  if (kind === 'command' || notice === undefined) {
    const sent = { ...command, delivery: withAttempt(delivery, session, now) }
    return { kind, command: sent, message: commandMessage(sent) }
  }
  const counted = { ...notice, ...withAttempt(notice, session, now) }
  return { kind, command: { ...command, notice: counted }, message: cancelMessage(command, counted, now) }
}

function withAttempt(delivery: Delivery, session: Micros | undefined, now: Millis): Delivery {
  return { ...delivery, attempts: delivery.attempts + 1, sentAt: now, sentIn: session }
}
