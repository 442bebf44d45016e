// What can happen to a command after its creation. Each function handles one event, and none of them sends anything.
//
// - A status moves only as `COMMAND_MOVES` says, so after the end only a late result can change a command.
// - Answers may arrive twice and out of order. One that is behind the status is ignored. One that contradicts a final
//   status is stored beside it.
// - An event is judged by its own time, so the result does not depend on whether the sweep ran first.
//
// The caller announces each `changed` command (`command.status`), writes it to the history, and then runs `sendDue`.
import { type CommandId, Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Ack } from './ack-message.ts'
import { applyAnswer } from './apply-answer.ts'
import type { CommandRefusal } from './create.ts'
import type { SendKind } from './messages.ts'
import { isCancelId } from './messages.ts'
import { COMMAND_MOVES, isOpen } from './moves.ts'
import { type Command, type Commands, type CommandsChange, NOT_SENT, replace } from './record.ts'

/** Applies the device's PUBACK of the command, or of the notice that cancels it. */
export function markDelivered(
  commands: Commands,
  { id, kind, now }: { readonly id: CommandId; readonly kind: SendKind; readonly now: Millis },
): CommandsChange {
  const command = commands.find((each) => each.id === id)
  if (command === undefined) return unchanged(commands)
  const { notice } = command
  if (kind === 'cancel') {
    if (notice === undefined || notice.deliveredAt !== undefined) return unchanged(commands)
    // This is not announced, because the status of the command did not change.
    const notified = { ...command, notice: { ...notice, deliveredAt: now } }
    return { commands: replace(commands, [notified]).commands, changed: [] }
  }
  const status = COMMAND_MOVES[command.status].deliver
  if (status === undefined || command.delivery.attempts === 0 || now >= command.expiresAt)
    return unchanged(commands)
  const delivery = { ...command.delivery, deliveredAt: now }
  return replace(commands, [{ ...command, status, delivery, deliveredAt: now }])
}

export type AckOutcome =
  | ({ readonly kind: 'changed'; readonly command: Command } & CommandsChange)
  | {
      readonly kind: 'ignored'
      /** `unknown` means that this device has no such command. */
      readonly reason: 'unknown' | 'outdated'
    }

/** Applies the device's answer. Whatever id it names, it can only concern commands of this device. An answer to a command
 *  that was never sent means that the command arrived some other way, so it will not be sent. */
export function acknowledge(commands: Commands, ack: Ack, now: Millis): AckOutcome {
  const found = commands.find((command) => command.id === ack.requestId)
  if (found === undefined)
    return { kind: 'ignored', reason: isCancelId(ack.requestId) ? 'outdated' : 'unknown' }
  const command = applyAnswer(withExpiry(found, now), ack, now)
  if (command === undefined) return { kind: 'ignored', reason: 'outdated' }
  return { kind: 'changed', command, ...replace(commands, [command]) }
}

/** Error code of a command whose answer could not be parsed. */
const UNREADABLE = 'MALFORMED_ACK'

/** Notes on the command that the device sent an unreadable answer. The command stays open, and the next answer that
 *  changes its status replaces the note. `ids` are those found in the answer. If several are commands, it is unknown which
 *  one was meant. */
export function noteUnreadable(
  commands: Commands,
  { ids, why, now }: { readonly ids: ReadonlySet<string>; readonly why: string; readonly now: Millis },
): CommandsChange {
  const [found, another] = commands.filter(({ id }) => ids.has(id))
  if (found === undefined || another !== undefined) return unchanged(commands)
  const command = withExpiry(found, now)
  const isAwaited = isOpen(command.status) || command.status === 'expired'
  const isKnown = command.error?.code === UNREADABLE && command.error.message === why
  if (!isAwaited || isKnown) return unchanged(commands)
  return replace(commands, [{ ...command, error: { code: UNREADABLE, message: why } }])
}

export type CancelOutcome =
  | ({ readonly kind: 'cancelled'; readonly command: Command } & CommandsChange)
  | CommandRefusal

/** Cancels a command. If it was sent, the device gets a notice; otherwise it will never be sent. */
export function cancelCommand(
  commands: Commands,
  id: CommandId,
  { now, by }: { readonly now: Millis; readonly by: string },
): CancelOutcome {
  const found = commands.find((command) => command.id === id)
  if (found === undefined)
    return { kind: 'refused', code: 'NOT_FOUND', detail: { message: 'no such command', command_id: id } }
  const { status: from } = withExpiry(found, now)
  if (!isOpen(from)) {
    const message = `the command is ${from} already`
    const detail = { message, from, to: 'cancelled', allowed: [] }
    return { kind: 'refused', code: 'INVALID_STATE_TRANSITION', detail }
  }
  const expiresAt = Millis(now + found.timeoutSec * 1_000)
  const notice = found.delivery.attempts === 0 ? undefined : { ...NOT_SENT, expiresAt }
  const command: Command = { ...found, status: 'cancelled', cancelledAt: now, cancelledBy: by, notice }
  return { kind: 'cancelled', command, ...replace(commands, [command]) }
}

/** Ends all commands of a decommissioned device. It gets no cancel notices either. */
export function abandonCommands(
  commands: Commands,
  { now, by }: { readonly now: Millis; readonly by: string },
): CommandsChange {
  const { commands: remaining, changed } = expireCommands(commands, now)
  const abandoned = remaining
    .filter(({ status }) => isOpen(status))
    .map((command): Command => ({ ...command, status: 'cancelled', cancelledAt: now, cancelledBy: by }))
  return { commands: replace(remaining, abandoned).commands, changed: [...changed, ...abandoned] }
}

export function expireCommands(commands: Commands, now: Millis): CommandsChange {
  return replace(
    commands,
    commands.flatMap((command) => {
      const after = withExpiry(command, now)
      return after === command ? [] : [after]
    }),
  )
}

/** Limits the finished commands in the record; the history already has them. Expired commands stay while a late result
 *  counts, cancelled ones until the device has the notice, those with an idempotency key while it may be repeated, and
 *  those of a broadcast until its result is saved. All of these are limited in number. */
export function trimCommands(commands: Commands, now: Millis): Commands {
  if (commands.length <= LIMITS.commandsKeptMax) return commands
  let finishedLeft = LIMITS.commandsKeptMax
  let awaitedLeft = LIMITS.commandsLateMax
  const isRetained = (command: Command): boolean => {
    if (isOpen(command.status)) return true
    return isAwaited(command, now) && awaitedLeft > 0 ? awaitedLeft-- > 0 : finishedLeft-- > 0
  }
  // Newest first, so that the oldest are dropped.
  const retained = commands.toReversed().filter(isRetained).toReversed()
  return retained.length === commands.length ? commands : retained
}

function isAwaited(command: Command, now: Millis): boolean {
  const { status, expiresAt, notice, idempotencyKey, createdAt, broadcastId } = command
  if (status === 'expired') return expiresAt + LIMITS.commandLateMs > now
  if (broadcastId !== undefined && expiresAt + LIMITS.broadcastCountMs > now) return true
  if (idempotencyKey !== undefined && createdAt + LIMITS.idempotencyKeyMs > now) return true
  return notice !== undefined && notice.deliveredAt === undefined && notice.expiresAt > now
}

function withExpiry(command: Command, now: Millis): Command {
  const status = now >= command.expiresAt ? COMMAND_MOVES[command.status].expire : undefined
  return status === undefined ? command : { ...command, status }
}

function unchanged(commands: Commands): CommandsChange {
  return { commands, changed: [] }
}
