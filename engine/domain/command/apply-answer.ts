// How one answer of a device changes one command.
import type { Millis } from '../../../schemas/ids.ts'
import type { CommandStatus } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import { isEqual } from '../shadow/json-object.ts'
import type { Ack } from './ack-message.ts'
import { COMMAND_MOVES, type CommandCause, isOpen } from './moves.ts'
import type { Command, CommandResult } from './record.ts'

const FINAL: Readonly<
  Record<Exclude<CommandCause, 'deliver' | 'accept' | 'expire' | 'cancel'>, CommandStatus>
> = { complete: 'completed', fail: 'failed', reject: 'rejected' }

/** Returns the command after the answer, undefined if nothing changes. */
export function applyAnswer(command: Command, ack: Ack, now: Millis): Command | undefined {
  if (ack.cause === 'accept') return isOpen(command.status) ? accept(command, ack, now) : undefined
  const status = COMMAND_MOVES[command.status][ack.cause]
  const isLate = command.status === 'expired'
  const isInTime = !isLate || command.expiresAt + LIMITS.commandLateMs > now
  if (status === undefined || !isInTime) return contradict(command, ack, now)
  return {
    ...command,
    ...resultOf(ack),
    status,
    late: isLate,
    deliveredAt: command.deliveredAt ?? now,
    ackedAt: command.ackedAt ?? now,
    completedAt: now,
    progress: ack.cause === 'complete' ? 100 : (ack.progress ?? command.progress),
  }
}

function accept(command: Command, ack: Ack, now: Millis): Command | undefined {
  const status = COMMAND_MOVES[command.status].accept
  // Progress only grows, because an older answer may come later.
  const isFurther = ack.progress !== undefined && ack.progress > (command.progress ?? -1)
  const progress = isFurther ? ack.progress : command.progress
  // The error of an open command can only be the note that an earlier answer was unreadable.
  const updated = { ...command, error: undefined, progress }
  if (status === undefined) return isFurther ? updated : undefined
  return { ...updated, status, deliveredAt: command.deliveredAt ?? now, ackedAt: now }
}

/** An identical answer is a repetition. A different one is stored for people to see. */
function contradict(command: Command, ack: Ack, now: Millis): Command | undefined {
  const status = FINAL[ack.cause === 'accept' ? 'complete' : ack.cause]
  const conflict = { ...resultOf(ack), status }
  const isKnown = [command, ...command.conflicts].some(
    (known) => known.status === status && isSame(known, conflict),
  )
  if (isKnown || command.conflicts.length >= LIMITS.commandConflictsMax) return undefined
  return { ...command, conflicts: [...command.conflicts, { ...conflict, at: now }] }
}

function isSame(a: CommandResult, b: CommandResult): boolean {
  return (
    isEqual(a.result, b.result) && a.error?.code === b.error?.code && a.error?.message === b.error?.message
  )
}

function resultOf({ executedAt, result, resultBytesOmitted, error }: Ack): CommandResult {
  return { executedAt, result, resultBytesOmitted, error }
}
