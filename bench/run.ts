// `npm run bench [-- --quick] [-- --only <name>[,<name>]]`: runs the scenarios and prints one table. Unless `--quick` is
// set, the results replace their parts of bench/BENCHMARKS.md.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine } from './measure/machine.ts'
import { METHOD } from './measure/method.ts'
import { type ReportPart, toReport, toTable, verdictOf } from './measure/report.ts'
import { Bench, type Scenario } from './scenario.ts'
import { alerts } from './scenarios/alerts.ts'
import { bridge } from './scenarios/bridge.ts'
import { broadcast } from './scenarios/broadcast.ts'
import { cluster } from './scenarios/cluster.ts'
import { commands } from './scenarios/commands.ts'
import { dashboard } from './scenarios/dashboard.ts'
import { disk } from './scenarios/disk.ts'
import { firmware } from './scenarios/firmware.ts'
import { floors } from './scenarios/floors.ts'
import { glue } from './scenarios/glue.ts'
import { history } from './scenarios/history.ts'
import { ingest } from './scenarios/ingest.ts'
import { latency } from './scenarios/latency.ts'
import { loads } from './scenarios/loads.ts'
import { nodes } from './scenarios/nodes.ts'
import { prices } from './scenarios/prices.ts'
import { rest } from './scenarios/rest.ts'
import { restart } from './scenarios/restart.ts'
import { rollout } from './scenarios/rollout.ts'
import { shadows } from './scenarios/shadows.ts'
import { gateways, simulator } from './scenarios/simulator.ts'
import { storm } from './scenarios/storm.ts'
import { sweep } from './scenarios/sweep.ts'
import { killAll } from './targets/children.ts'

/** Later scenarios use earlier figures: the floors, and the best rate to find half of it. */
const SCENARIOS: readonly Scenario[] = [
  floors,
  ingest,
  glue,
  cluster,
  loads,
  nodes,
  latency,
  commands,
  shadows,
  broadcast,
  sweep,
  alerts,
  rest,
  prices,
  storm,
  simulator,
  gateways,
  bridge,
  firmware,
  rollout,
  restart,
  disk,
  history,
  dashboard,
]
const REPORT = 'bench/BENCHMARKS.md'

const USAGE = `usage: npm run bench -- [--quick] [--only <scenario>[,…]] [--dir <directory>]
${SCENARIOS.map(({ name, about }) => `  ${name.padEnd(9)} ${about}`).join('\n')}
--quick takes minutes instead of more than an hour. Without it, each scenario replaces its part of ${REPORT}.
--dir is the directory for data during the run; choose one on the disk that is to be measured.`

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      dir: { type: 'string', default: tmpdir() },
      help: { type: 'boolean', default: false },
    },
  })
  const wanted = values.only?.split(',')
  const chosen = SCENARIOS.filter(({ name }) => wanted === undefined || wanted.includes(name))
  if (values.help || chosen.length !== (wanted?.length ?? SCENARIOS.length)) {
    console.error(USAGE)
    return values.help ? 0 : 2
  }
  const root = mkdtempSync(join(values.dir, 'fleet-bench-'))
  const clean = (): void => {
    killAll()
    rmSync(root, { recursive: true, force: true, maxRetries: 3 })
  }
  process.once('exit', clean)
  const bench = new Bench({ quick: values.quick, root })
  const parts = await runAll(bench, chosen)
  const failures = chosen.length - parts.length
  console.log(toTable(bench.figures))
  const missed = bench.figures.filter((figure) => verdictOf(figure) === 'missed').length
  console.error(`${parts.length} scenarios done, ${failures} failed; ${missed} targets missed`)
  return failures === 0 ? 0 : 1
}

// If a scenario fails or is interrupted, the figures of the others are kept.
async function runAll(bench: Bench, scenarios: readonly Scenario[]): Promise<readonly ReportPart[]> {
  const parts: ReportPart[] = []
  for (const scenario of scenarios) {
    const { name, about } = scenario
    console.error(name)
    const before = bench.figures.length
    try {
      await scenario.run(bench)
      const figures = bench.figures.slice(before)
      if (figures.length > 0) parts.push({ name, about, figures, conditions: describeMachine(bench.root) })
      if (!bench.quick) report(parts)
    } catch (error) {
      console.error(`  failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    }
  }
  return parts
}

function report(parts: readonly ReportPart[]): void {
  const order = SCENARIOS.map(({ name }) => name)
  writeFileSync(REPORT, toReport(readFileSync(REPORT, 'utf8'), parts, { order, method: METHOD }))
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
process.exit(await main())
