// Measures floors, which are single parts of the work on their own, in the same run as everything else.
import { COUNTED_METRIC, LEAVES, makePayloads } from '../load/payloads.ts'
import { deviceIds, withGenerator } from '../load/session.ts'
import { cpuBetween, ownMicros, sampleCpu } from '../measure/cpu.ts'
import { flatten } from '../measure/flatten.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { startBare } from '../targets/brokers.ts'
import { ringFor, windowFor } from './ingest.ts'
import { addInsertFloor } from './insert-floor.ts'

export const floors: Scenario = {
  name: 'floors',
  about: 'parse + flatten, insert of prebuilt blocks, bare aedes, bare sockets',
  async run(bench) {
    addParseFloor(bench)
    await addInsertFloor(bench)
    for (const sockets of bench.quick ? [100, 1_000] : [100, 1_000, 10_000]) {
      await addBrokerFloor(bench, 'aedes', sockets)
    }
    await addBrokerFloor(bench, 'echo', 1_000)
  },
}

function addParseFloor(bench: Bench): void {
  const payloads = makePayloads(4096)
  const columns = new Map<string, number>()
  const values = new Float64Array(payloads.length * LEAVES)
  const round = (): void => {
    let row = 0
    const put = (name: string, value: number): void => {
      if (!columns.has(name)) columns.set(name, columns.size)
      values[row++] = value
    }
    for (const payload of payloads) flatten(JSON.parse(payload.toString()), '', put)
    if (row !== values.length || !columns.has(COUNTED_METRIC)) throw new Error('a leaf is missing')
  }
  for (let warm = 0; warm < 20; warm++) round()
  const rounds = bench.quick ? 50 : 200
  const micros = ownMicros(() => {
    for (let k = 0; k < rounds; k++) round()
  })
  bench.add({
    scenario: 'floors',
    name: 'JSON.parse + flatten',
    value: micros / (rounds * payloads.length),
    unit: 'µs/message',
    note: `${LEAVES} numbers of ${payloads[0]?.length ?? 0} bytes into a Float64Array`,
  })
}

async function addBrokerFloor(bench: Bench, kind: 'aedes' | 'echo', sockets: number): Promise<void> {
  const name =
    kind === 'aedes' ? `bare aedes, ${toDigits(sockets)} sockets` : `bare sockets, ${toDigits(sockets)}`
  bench.say(name)
  const broker = await startBare(kind)
  try {
    await withGenerator(async (generator) => {
      const devices = deviceIds(sockets).map((id) => ({ id, token: undefined }))
      const window = windowFor(sockets)
      const ringSize = ringFor(sockets)
      await generator.open({ ...broker.mqtt, devices, connectsAtOnce: 256, ringSize, greet: false })
      await generator.closed({ window, durationMs: 1_000, messagesPerDevice: undefined })
      const before = sampleCpu(broker.pid)
      const durationMs = bench.quick ? 2_000 : 6_000
      const run = await generator.closed({ window, durationMs, messagesPerDevice: undefined })
      const cpu = cpuBetween(before, sampleCpu(broker.pid))
      const perMessage = toDigits(cpu.totalMicros / run.messages)
      bench.add({
        scenario: 'floors',
        name,
        value: (1000 * run.messages) / (run.lastAckedAt - run.firstSentAt),
        unit: 'messages/s',
        note: `${perMessage} µs CPU per message, generator ${toDigits(run.cpuMicros / run.messages)}; nothing is stored`,
      })
    })
  } finally {
    await broker.kill()
  }
}
