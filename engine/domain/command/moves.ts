// The command statuses, as data: everything that decides whether a status may move is here. A missing cell is a
// refused move. `expired` is left for a late result only, and for a while.
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
  // An answer proves the delivery whose PUBACK was not seen.
  pending: { deliver: 'delivered', accept: 'acked', ...ENDS },
  delivered: { accept: 'acked', ...ENDS },
  acked: ENDS,
  expired: { complete: 'completed', fail: 'failed' },
  completed: {},
  failed: {},
  rejected: {},
  cancelled: {},
}

/** Open: the device may still be sent it, or still owes an answer in time. */
export function isOpen(status: CommandStatus): boolean {
  return COMMAND_MOVES[status].cancel !== undefined
}
