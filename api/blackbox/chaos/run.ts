// `npm run chaos -- [--minutes 10] [--seed N] [--profile cluster|embedded]`: runs chaos for a long
// time. With `--losses`, NATS may also come back without its data.
// `npm run chaos -- --judge <recording>`: checks a run that was kept.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { HAS_CLUSTER_SERVERS } from '../testing/cluster.ts'
import { runChaos } from './chaos.ts'
import { checkAll } from './checks/all.ts'
import type { Violation } from './checks/violation.ts'
import { openClusterSystem } from './cluster-system.ts'
import { openEmbeddedSystem } from './embedded-system.ts'
import { readRecording } from './recording.ts'

const SHOWN_MAX = 20
/** The run does not renew the access token, which lasts an hour. */
const MINUTES_MAX = 50

const SYSTEMS: Readonly<Record<string, typeof openEmbeddedSystem>> = {
  cluster: openClusterSystem,
  embedded: openEmbeddedSystem,
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
    profile: { type: 'string', default: 'cluster' },
    devices: { type: 'string', default: '200' },
    losses: { type: 'boolean', default: false },
    judge: { type: 'string' },
  },
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
process.exit(values.judge === undefined ? await run() : await judge(values.judge))

async function run(): Promise<number> {
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000))
  const minutes = Math.min(Number(values.minutes), MINUTES_MAX)
  const open = SYSTEMS[values.profile]
  if (open === undefined || !(minutes > 0) || !Number.isInteger(seed)) {
    console.error(`--profile is one of ${Object.keys(SYSTEMS).join(', ')}; --minutes and --seed are numbers`)
    return 2
  }
  if (values.profile === 'cluster' && !HAS_CLUSTER_SERVERS) {
    console.error('nats-server, redis-server and mosquitto are needed; `npm test` says which is missing')
    return 2
  }
  const devices = Number(values.devices)
  const load = { devices, perSecond: 2, callers: 8, losesData: values.losses }
  const say = (text: string) => void process.stderr.write(`  ${text}\n`)
  console.log(`seed ${seed}`)
  const { violations, kept, counts } = await runChaos({
    seed,
    durationMs: minutes * 60_000,
    open,
    say,
    ...load,
  })
  console.log(
    Object.entries(counts)
      .map(([what, count]) => `${count} ${what}`)
      .join(', '),
  )
  if (kept !== undefined) console.log(`kept: ${join(kept, 'recording.jsonl')} and ${join(kept, 'logs')}`)
  return tell(violations)
}

async function judge(path: string): Promise<number> {
  return tell(checkAll(await readRecording(path)))
}

function tell(violations: readonly Violation[]): number {
  for (const { check, device, text } of violations.slice(0, SHOWN_MAX))
    console.log(`${check} ${device}: ${text}`)
  console.log(violations.length === 0 ? 'no violations' : `${violations.length} VIOLATIONS`)
  return violations.length === 0 ? 0 : 1
}
