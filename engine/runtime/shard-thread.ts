// The thread's entry. Piscina calls the exported function per task; the shard must outlive the task, so this one
// module keeps state. It dies with the thread, and the host loads the shard again.
import { performance } from 'node:perf_hooks'
import { workerData } from 'node:worker_threads'
import type { ShardSettings, ShardTask, WorkResult } from './protocol.ts'
import { Shard } from './shard.ts'

// `piscinaThread` put the settings there.
const shard = new Shard(workerData as ShardSettings, () => performance.now())

export default function run(task: ShardTask): WorkResult | undefined {
  return shard.run(task)
}
