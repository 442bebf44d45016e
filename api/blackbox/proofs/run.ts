// `npm run proofs [-- --quick] [-- --only <name>]`: checks promises about presence and about the ROS 2 bridge on the real
// processes at full size. It takes minutes, so it is started by hand; the tests check the same at a smaller size.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { toTable, verdictOf } from '../../../bench/measure/report.ts'
import { Bench } from '../../../bench/scenario.ts'
import { killAll } from '../../../bench/targets/children.ts'
import { bridge } from './bridge.ts'
import { pause } from './pause.ts'
import { silence } from './silence.ts'

const PROOFS = [silence, pause, bridge]

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } },
})
const root = mkdtempSync(join(tmpdir(), 'fleet-proofs-'))
process.once('exit', () => {
  killAll()
  rmSync(root, { recursive: true, force: true, maxRetries: 3 })
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
const bench = new Bench({ quick: values.quick, root })
for (const proof of PROOFS.filter(({ name }) => values.only === undefined || values.only === name)) {
  console.error(`${proof.name}: ${proof.about}`)
  await proof.run(bench)
}
console.log(toTable(bench.figures))
const isProved = bench.figures.length > 0 && bench.figures.every((figure) => verdictOf(figure) === 'met')
console.log(isProved ? 'proved' : 'NOT proved')
process.exit(isProved ? 0 : 1)
