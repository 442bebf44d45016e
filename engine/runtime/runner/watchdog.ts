// Runs one task at a time on a shard's thread, and ends a thread whose task hangs.
import { LIMITS } from '../../limits.ts'
import type { WorkResult, WorkTask } from '../shard/protocol.ts'
import type { ShardThread } from './thread.ts'

/** A task that takes longer than this many sweeps will never end. Sweeps stop while the process is stopped. */
const TASK_SWEEPS_MAX = Math.ceil(LIMITS.taskTimeoutMs / LIMITS.sweepEveryMs)

export class Watchdog {
  #running: ShardThread | undefined
  #sweeps = 0

  /** Resolves with the task's result or with its error. Never rejects. */
  async run(thread: ShardThread, task: WorkTask): Promise<WorkResult | Error> {
    this.#running = thread
    this.#sweeps = 0
    try {
      return (await thread.run(task)) ?? new Error('a work task has a result')
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    } finally {
      this.#running = undefined
    }
  }

  /** Called every `LIMITS.sweepEveryMs`. */
  sweep(): void {
    if (this.#running !== undefined && ++this.#sweeps === TASK_SWEEPS_MAX) void this.#running.close()
  }
}
