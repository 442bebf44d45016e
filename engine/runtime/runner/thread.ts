// Where a shard runs. Piscina is a task pool, not a host of actors: one pool of one thread per shard, one task in
// flight, and our own order in front of it.
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { Fault } from '../../ports/fault.ts'
import type { ShardSettings, ShardTask, WorkResult } from '../shard/protocol.ts'
import { Shard } from '../shard/shard.ts'

/** While all cores are busy, shards give way to the event loop: it acknowledges, and what a shard has to do can wait. */
const NICE = 5

export interface ShardThread {
  /** One task at a time. Rejects with `SHARD_LOST` when the shard's memory is gone: load it again. */
  run(task: ShardTask): Promise<WorkResult | undefined>
  close(): Promise<void>
}

/** The same shard without a thread: for the simulator and tests. */
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
  // A thread that dies between tasks has nobody to reject: the next task finds an empty shard, and is refused.
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

/** Threads run what was built: Node 20 cannot load TypeScript. */
function workerFile(): string {
  const here = import.meta.url
  const built = here.endsWith('.ts')
    ? '../../../dist/engine/runtime/runner/shard-thread.js'
    : './shard-thread.js'
  return fileURLToPath(new URL(built, here))
}
