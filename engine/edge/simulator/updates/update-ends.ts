import type { UpdateKind } from './update-kinds.ts'

/** The final statuses that a job may have, by the behaviour of its device. A job that asked for automatic rollback may
 *  then also be rolled back. */
export const UPDATE_ENDS: Readonly<Record<UpdateKind, readonly string[]>> = {
  ok: ['succeeded'],
  quiet: ['succeeded'],
  slow: ['succeeded'],
  defer: ['succeeded'],
  download_fail: ['succeeded'],
  restart_midway: ['succeeded'],
  reject: ['rejected'],
  corrupt: ['failed'],
  already_installed: ['failed'],
  stall_downloading: ['timed_out'],
  stall_installing: ['timed_out', 'rollback_failed'],
  power_cut: ['failed', 'rolled_back'],
  brick: ['timed_out', 'rollback_failed'],
  rollback_self: ['failed', 'rolled_back'],
  wrong_version: ['failed', 'rolled_back'],
  liar: ['failed', 'rolled_back'],
  crash_loop: ['failed', 'succeeded', 'rolled_back', 'rollback_failed'],
}
