// `npm run sim -- --seed N` runs one seed and prints its trace. Without a seed it tries many and stops at the first that
// fails. `--cluster` simulates several nodes. `--rollout` simulates rollouts of firmware, small ones with `--devices N`.
import { parseArgs } from 'node:util'
import { simulateCluster } from './cluster/simulate-cluster.ts'
import { simulateRollout } from './rollout.ts'
import { simulate } from './simulate.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string' },
    count: { type: 'string' },
    quiet: { type: 'boolean' },
    cluster: { type: 'boolean' },
    rollout: { type: 'boolean' },
    devices: { type: 'string' },
  },
})
const devices = values.devices === undefined ? undefined : Number(values.devices)
const first = Number(values.seed ?? values.from ?? 1)
const count = values.seed === undefined ? Number(values.count ?? 1_000) : 1
let failed = 0
for (let seed = first; seed < first + count && failed === 0; seed++) {
  const run = await (values.cluster === true
    ? simulateCluster(seed)
    : values.rollout === true
      ? simulateRollout(seed, devices)
      : simulate(seed))
  failed = run.violations.length
  if (values.seed !== undefined && values.quiet !== true) process.stdout.write(`${run.trace.join('\n')}\n`)
  if (failed > 0 || values.seed !== undefined)
    process.stdout.write(
      `seed ${seed}: ${failed === 0 ? 'nothing wrong' : run.violations.join('; ')}\n  trace ${run.hash}\n`,
    )
}
process.stdout.write(failed === 0 ? `${count} seeds from ${first}: nothing wrong\n` : '')
process.exitCode = failed === 0 ? 0 : 1
