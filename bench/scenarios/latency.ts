// Measures the latency of PUBACKs and live frames at half of the highest rate, on a fixed schedule.
import { expectedOf, waitForRows } from '../load/count.ts'
import type { RunResult } from '../load/protocol.ts'
import { deviceIds, type Session, withSession } from '../load/session.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { ingestName, ringFor, windowFor } from './ingest.ts'

const SOCKETS = 1_000
const PROBE_DEVICES = 50
const PROBES_PER_SEC = 500
/** Messages per write. A device that reports often sends several at once, and one that reports rarely sends them singly. */
const BURSTS = [8, 1] as const

export const latency: Scenario = {
  name: 'latency',
  about: 'PUBACK and /ws latency at half load, open loop',
  async run(bench) {
    await bench.withDir((dataDir) =>
      withSession({ dataDir, durability: 'power', devices: SOCKETS }, (session) => measure(bench, session)),
    )
  },
}

async function measure(bench: Bench, session: Session): Promise<void> {
  const { service, rest, devices, generator } = session
  const probes = await rest.register(deviceIds(PROBE_DEVICES, 'probe'))
  await generator.open({
    ...service.mqtt,
    devices,
    connectsAtOnce: 256,
    ringSize: ringFor(SOCKETS),
    greet: false,
  })
  const durationMs = bench.quick ? 4_000 : 20_000
  const wsUrl = `${service.wsUrl}?token=${rest.token}`
  const runs: RunResult[] = []
  for (const burst of BURSTS) {
    const known = burst === 1 ? undefined : bench.find(ingestName(SOCKETS, 'power'), 'messages/s')
    const best = known ?? (await findBest(session, runs, burst === 1 ? 1 : windowFor(SOCKETS)))
    const messagesPerSec = Math.round(best / 2)
    bench.say(`half load: ${toDigits(messagesPerSec)} messages/s in bursts of ${burst}`)
    const noise = new NoiseMeter()
    const probe = { wsUrl, devices: probes, messagesPerSec: PROBES_PER_SEC }
    const run = await generator.paced({ messagesPerSec, durationMs, burst, probe })
    runs.push(run)
    addFigures(bench, { run, messagesPerSec, burst, noise: noise.note() })
  }
}

/** Measures how many messages are stored per second, with `window` messages per device in flight. */
async function findBest(session: Session, runs: RunResult[], window: number): Promise<number> {
  const ids = session.devices.map(({ id }) => id)
  const run = async (durationMs: number): Promise<number> => {
    const result = await session.generator.closed({ window, durationMs, messagesPerDevice: undefined })
    runs.push(result)
    const storedAt = await waitForRows(session.rest, expectedOf(ids, runs))
    return (1000 * result.messages) / (storedAt - result.firstSentAt)
  }
  await run(1_500)
  return run(5_000)
}

interface PacedRun {
  readonly run: RunResult
  readonly messagesPerSec: number
  readonly burst: number
  readonly noise: string
}

function addFigures(bench: Bench, { run, messagesPerSec, burst, noise }: PacedRun): void {
  const scenario = `half load, ${burst === 1 ? 'single messages' : `bursts of ${burst}`}`
  const ms = (micros: number): number => micros / 1000
  const puback = run.latencyMicros
  const live = run.probeMicros ?? {
    p50: Number.NaN,
    p99: Number.NaN,
    p999: Number.NaN,
    max: Number.NaN,
    count: 0,
  }
  bench.add(
    {
      scenario,
      name: 'PUBACK p99',
      value: ms(puback.p99),
      unit: 'ms',
      target: { kind: 'at_most', value: 25 },
      note:
        `p50 ${toDigits(ms(puback.p50))}, p99.9 ${toDigits(ms(puback.p999))}, max ${toDigits(ms(puback.max))} ms at ` +
        `${toDigits(messagesPerSec)} messages/s` +
        `; generator ${toDigits(run.cpuMicros / run.messages)} µs CPU per message` +
        (run.deferred > 0 ? `; ${toDigits(run.deferred)} had to wait` : '') +
        noise,
    },
    {
      scenario,
      name: 'publish → /ws p99',
      value: ms(live.p99),
      unit: 'ms',
      target: { kind: 'at_most', value: 25 },
      note:
        `p50 ${toDigits(ms(live.p50))}, p99.9 ${toDigits(ms(live.p999))}, max ${toDigits(ms(live.max))} ms; ` +
        `${toDigits(live.count)} probes, ${run.probesLost} lost`,
    },
  )
}
