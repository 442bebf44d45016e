// The thread's entry. Piscina calls the exported function per task; the shard must outlive the task, so this one
// module keeps state. It dies with the thread, and the host loads the shard again.
import { performance } from 'node:perf_hooks'
import { workerData } from 'node:worker_threads'
import { exposedGc, REST_AFTER_LOAD_MS } from '../garbage.ts'
import type { ShardSettings, ShardTask, WorkResult } from '../shard/protocol.ts'
import { Shard } from '../shard/shard.ts'

// `piscinaThread` put the settings there.
const shard = new Shard(workerData as ShardSettings, () => performance.now())
const collectGarbage = exposedGc()
let loadedAt = Number.POSITIVE_INFINITY

// Piscina takes the default export.
export default function run(task: ShardTask): WorkResult | undefined {
  if (task.kind === 'load') loadedAt = performance.now()
  else if (performance.now() - loadedAt > REST_AFTER_LOAD_MS) {
    loadedAt = Number.POSITIVE_INFINITY
    collectGarbage()
  }
  return shard.run(task)
}
