// Measures round trips of commands: POST, the device's socket, its answer, and `completed` on /ws.
import type { CommandsResult } from '../load/protocol.ts'
import { type Session, withSession } from '../load/session.ts'
import { type CpuUse, cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'

const DEVICES = 200
const IN_FLIGHT = 256
const WARM_UP_MS = 1_500

export const commands: Scenario = {
  name: 'commands',
  about: 'command POST → device → answer → completed on /ws: rate, and latency at half load',
  async run(bench) {
    await bench.withDir((dataDir) =>
      withSession({ dataDir, durability: 'power', devices: DEVICES }, (session) => measure(bench, session)),
    )
  },
}

interface Measurement {
  readonly run: CommandsResult
  readonly cpu: CpuUse
  readonly noise: string
}

async function measure(bench: Bench, session: Session): Promise<void> {
  const { service, devices, generator } = session
  await generator.listen({ ...service.mqtt, devices, connectsAtOnce: 64 })
  await runOnce(session, WARM_UP_MS, undefined)
  const full = await runOnce(session, bench.quick ? 2_000 : 12_000, undefined)
  const perSec = rateOf(full.run)
  addFull(bench, full, perSec)
  const half = Math.max(1, Math.round(perSec / 2))
  bench.say(`half load: ${toDigits(half)} commands/s`)
  addHalf(bench, await runOnce(session, bench.quick ? 2_000 : 12_000, half), half)
}

async function runOnce(
  { service, rest, devices, generator }: Session,
  durationMs: number,
  perSec: number | undefined,
): Promise<Measurement> {
  const noise = new NoiseMeter()
  const before = sampleCpu(service.pid)
  const run = await generator.commands({
    httpUrl: service.httpUrl,
    wsUrl: `${service.wsUrl}?token=${rest.token}`,
    token: rest.token,
    ids: devices.map(({ id }) => id),
    durationMs,
    inFlight: IN_FLIGHT,
    perSec,
  })
  return { run, cpu: cpuBetween(before, sampleCpu(service.pid)), noise: noise.note() }
}

function rateOf({ sent, lost, firstSentAt, lastCompletedAt }: CommandsResult): number {
  return (1000 * (sent - lost)) / (lastCompletedAt - firstSentAt)
}

const ms = (micros: number): string => toDigits(micros / 1000)

function addFull(bench: Bench, { run, cpu, noise }: Measurement, perSec: number): void {
  const { sent, completedMicros, cpuMicros } = run
  bench.add({
    scenario: 'commands, full load',
    name: 'round trips/s',
    value: perSec,
    unit: '',
    target: { kind: 'at_least', value: 5_000 },
    note:
      `${IN_FLIGHT} in flight over ${DEVICES} devices, p50 ${ms(completedMicros.p50)}, p99 ${ms(completedMicros.p99)} ms; ` +
      `CPU per command: service ${toDigits(cpu.totalMicros / sent)} µs (main ${toDigits(cpu.mainMicros / sent)}), ` +
      `generator ${toDigits(cpuMicros / sent)} µs${lostOf(run)}${noise}`,
  })
}

function addHalf(bench: Bench, { run, noise }: Measurement, perSec: number): void {
  const { acceptedMicros, receivedMicros, completedMicros } = run
  bench.add({
    scenario: 'commands, half load',
    name: 'POST → completed on /ws p99',
    value: completedMicros.p99 / 1000,
    unit: 'ms',
    target: { kind: 'at_most', value: 25 },
    note:
      `p50 ${ms(completedMicros.p50)}, p99.9 ${ms(completedMicros.p999)}, max ${ms(completedMicros.max)} ms at ` +
      `${toDigits(perSec)} commands/s; until 202 p50 ${ms(acceptedMicros.p50)}, p99 ${ms(acceptedMicros.p99)}; ` +
      `until the device has it p50 ${ms(receivedMicros.p50)}, p99 ${ms(receivedMicros.p99)} ms${lostOf(run)}${noise}`,
  })
}

function lostOf({ lost, resyncs }: CommandsResult): string {
  return (
    (lost > 0 ? `; ${toDigits(lost)} never seen completed` : '') +
    (resyncs > 0 ? `; /ws left something out ${toDigits(resyncs)} times` : '')
  )
}
