// At half of what the service can take, on a fixed schedule: how late is a PUBACK, and how late a live frame?
import type { RunResult } from '../load/protocol.ts'
import { deviceIds, type Session, withSession } from '../load/session.ts'
import { sleep } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { ingestName, ringFor, windowFor } from './ingest.ts'

const SOCKETS = 1_000
const PROBE_DEVICES = 50
const PROBES_PER_SEC = 500
/** A device that reports often sends several messages in one write; one that reports seldom does not. */
const BURSTS = [8, 1] as const
/** What a calibration left behind is stored before the schedule begins. */
const SETTLE_MS = 3_000

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
  for (const burst of BURSTS) {
    const known = burst === 1 ? undefined : bench.find(ingestName(SOCKETS, 'power'), 'messages/s')
    const best = known ?? (await findBest(session, burst === 1 ? 1 : windowFor(SOCKETS)))
    const messagesPerSec = Math.round(best / 2)
    bench.say(`half load: ${toDigits(messagesPerSec)} messages/s in bursts of ${burst}`)
    await sleep(SETTLE_MS)
    const noise = new NoiseMeter()
    const probe = { wsUrl, devices: probes, messagesPerSec: PROBES_PER_SEC }
    const run = await generator.paced({ messagesPerSec, durationMs, burst, probe })
    addFigures(bench, { run, messagesPerSec, burst, noise: noise.note() })
  }
}

/** Messages/s with so many unanswered per device: with one, nothing travels together. */
async function findBest({ generator }: Session, window: number): Promise<number> {
  const job = { window, durationMs: 3_000, messagesPerDevice: undefined }
  await generator.closed(job)
  const run = await generator.closed(job)
  return (1000 * run.messages) / (run.lastAckedAt - run.firstSentAt)
}

interface Paced {
  readonly run: RunResult
  readonly messagesPerSec: number
  readonly burst: number
  readonly noise: string
}

function addFigures(bench: Bench, { run, messagesPerSec, burst, noise }: Paced): void {
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
