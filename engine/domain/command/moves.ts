// The command statuses, as data. Everything that decides whether a status may move is in this file: a cause without a
// cell moves nothing. `expired` moves by a late result only, and for a limited time.
import type { CommandStatus } from '../../../schemas/vocabulary.ts'

export const COMMAND_CAUSES = ['deliver', 'accept', 'complete', 'fail', 'reject', 'expire', 'cancel'] as const
export type CommandCause = (typeof COMMAND_CAUSES)[number]

const ENDS = {
  complete: 'completed',
  fail: 'failed',
  reject: 'rejected',
  expire: 'expired',
  cancel: 'cancelled',
} as const

export const COMMAND_MOVES: Readonly<
  Record<CommandStatus, Readonly<Partial<Record<CommandCause, CommandStatus>>>>
> = {
  // An answer proves that the command arrived, even if its PUBACK was not seen.
  pending: { deliver: 'delivered', accept: 'acked', ...ENDS },
  delivered: { accept: 'acked', ...ENDS },
  acked: ENDS,
  expired: { complete: 'completed', fail: 'failed' },
  completed: {},
  failed: {},
  rejected: {},
  cancelled: {},
}

/** True while the device may still be sent the command, or may still answer it before the deadline. */
export function isOpen(status: CommandStatus): boolean {
  return COMMAND_MOVES[status].cancel !== undefined
}
