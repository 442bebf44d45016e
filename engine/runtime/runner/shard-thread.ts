// The entry point of a shard's thread. Piscina calls the exported function for each task. The shard must outlive a task,
// so this module keeps state. The state dies with the thread, and the host loads the shard again.
import { performance } from 'node:perf_hooks'
import { workerData } from 'node:worker_threads'
import { exposedGc, REST_AFTER_LOAD_MS } from '../garbage.ts'
import type { ShardSettings, ShardTask, WorkResult } from '../shard/protocol.ts'
import { Shard } from '../shard/shard.ts'

// `piscinaThread` passes the settings.
const shard = new Shard(workerData as ShardSettings, () => performance.now())
const collectGarbage = exposedGc()
let loadedAt = Number.POSITIVE_INFINITY

// Piscina calls the default export.
export default function run(task: ShardTask): WorkResult | undefined {
  if (task.kind === 'load') loadedAt = performance.now()
  else if (performance.now() - loadedAt > REST_AFTER_LOAD_MS) {
    loadedAt = Number.POSITIVE_INFINITY
    collectGarbage()
  }
  return shard.run(task)
}
