// Runs in a process of its own that tests kill or trace: appends to a log and reports the results on stdout.
import { writeSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { Micros, Partition } from '../../../../schemas/ids.ts'
import { Fault } from '../../../ports/fault.ts'
import { openLmdbLog } from '../lmdb/lmdb.ts'

/** One report. `seq` is that of the entry in partition 1, whose text is the same number. */
export type Report =
  | { readonly kind: 'appended'; readonly seq: number; readonly ms: number }
  | { readonly kind: 'fault'; readonly code: string; readonly retryable: boolean }
  | { readonly kind: 'end' }

const [path = '', durability = 'power', appends = '0', faultsMax = '0'] = process.argv.slice(2)
const log = openLmdbLog({ path, durability: durability === 'process' ? 'process' : 'power' })
const bodyOf = (text: string) => new TextEncoder().encode(text.padEnd(3_000, ' '))

let faults = 0
for (let left = Number(appends); left > 0 && faults <= Number(faultsMax); ) {
  const text = `${(log.ends()[1] ?? 0) + 1}`
  const bundles = [
    { partition: Partition(1), body: bodyOf(text) },
    { partition: Partition(2), body: bodyOf(text) },
  ]
  const start = performance.now()
  try {
    const [seq = 0] = await log.append(bundles, Micros(Number(text)))
    left--
    say({ kind: 'appended', seq, ms: performance.now() - start })
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    faults++
    say({ kind: 'fault', code: error.code, retryable: error.retryable })
    await wait(5)
  }
}
say({ kind: 'end' })
await log.close()

/** Writes synchronously, so that a kill cannot lose the report. */
function say(report: Report): void {
  writeSync(1, `${JSON.stringify(report)}\n`)
}
