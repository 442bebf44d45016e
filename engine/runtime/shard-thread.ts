// The thread's entry. Piscina calls the exported function per task; the shard must outlive the task, so this one
// module keeps state. It dies with the thread, and the host loads the shard again.

import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { workerData } from 'node:worker_threads'
import type { ShardSettings, ShardTask, WorkResult } from './protocol.ts'
import { Shard } from './shard.ts'

// `piscinaThread` put the settings there.
const shard = new Shard(workerData as ShardSettings, () => performance.now())

/** Loading leaves more garbage than devices, and an idle shard would keep it for hours. */
const collectGarbage = exposedGc()
let isLoading = false

export default function run(task: ShardTask): WorkResult | undefined {
  if (isLoading && task.kind === 'work') collectGarbage()
  isLoading = task.kind === 'load'
  return shard.run(task)
}

function exposedGc(): () => void {
  setFlagsFromString('--expose-gc')
  // The context's global `gc`, which only exists with the flag above.
  return runInNewContext('gc') as () => void
}
