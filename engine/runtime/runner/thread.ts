// Where a shard runs. Piscina is a task pool and does not host actors, so each shard has a pool of one thread and one task
// in flight, and we keep the order ourselves.
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { Fault } from '../../ports/fault.ts'
import type { ShardSettings, ShardTask, WorkResult } from '../shard/protocol.ts'
import { Shard } from '../shard/shard.ts'

/** Lowers the priority of shards. If all cores are busy, the event loop goes first, because it acknowledges messages. */
const NICE = 5

export interface ShardThread {
  /** Runs one task at a time. Rejects with `SHARD_LOST` when the shard's memory is gone. Then load it again. */
  run(task: ShardTask): Promise<WorkResult | undefined>
  close(): Promise<void>
}

/** A shard without a thread, for the simulation and tests. */
export function inlineThread(settings: ShardSettings, ticks: () => number): ShardThread {
  const shard = new Shard(settings, ticks)
  return {
    run: async (task) => shard.run(task),
    close: async () => {},
  }
}

export function piscinaThread(settings: ShardSettings): ShardThread {
  const pool = new Piscina({
    filename: workerFile(),
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: 1,
    niceIncrement: NICE,
    // The default, 'sync', freezes the thread's event loop between tasks.
    atomics: 'disabled',
    stricterFIFO: true,
    idleTimeout: Number.POSITIVE_INFINITY,
    workerData: settings,
  })
  // If a thread dies between tasks, there is no task to reject. The next one finds an empty shard and is refused.
  pool.on('error', () => {})
  return {
    async run(task) {
      try {
        return await pool.run(task)
      } catch (error) {
        throw new Fault('SHARD_LOST', { retryable: true, cause: error, message: String(error) })
      }
    },
    close: () => pool.destroy(),
  }
}

/** Threads run the built files, because Node 20 cannot load TypeScript. */
function workerFile(): string {
  const here = import.meta.url
  const built = here.endsWith('.ts') ? '../../../dist/program/shard-thread.js' : './shard-thread.js'
  return fileURLToPath(new URL(built, here))
}
