// Measures a script that one could write in an afternoon, for comparison. Generator, payloads and the kind of ClickHouse
// child process are the same as for the service.

import { LEAVES } from '../load/payloads.ts'
import type { RunResult } from '../load/protocol.ts'
import { deviceIds, withGenerator } from '../load/session.ts'
import { type CpuSample, cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { ticks, until } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { type BareBroker, startMosquitto } from '../targets/brokers.ts'
import { type ClickHouse, withClickHouse } from '../targets/clickhouse.ts'
import { startGlue } from '../targets/glue.ts'
import type { Program } from '../targets/ready-line.ts'
import { ingestName } from './ingest.ts'

const SOCKETS = 1_000
export const glueName = `glue peer, ${toDigits(SOCKETS)} sockets`
const COUNT_MS = 300_000
const TABLE = `CREATE TABLE glue (
  device_id LowCardinality(String), metric LowCardinality(String), ts DateTime64(3, 'UTC'), value Float64
) ENGINE = MergeTree ORDER BY (device_id, metric, ts)`

export const glue: Scenario = {
  name: 'glue',
  about: 'the peer: mosquitto + mqtt.js + @clickhouse/client, JSONEachRow',
  async run(bench) {
    await bench.withDir(async (dir) => {
      const broker = await startMosquitto(dir)
      if (broker === undefined) {
        bench.say('mosquitto is not installed: skipped')
        return
      }
      try {
        await withClickHouse(dir, (clickhouse) => measure(bench, broker, clickhouse))
      } finally {
        await broker.kill()
      }
    })
  },
}

async function measure(bench: Bench, broker: BareBroker, clickhouse: ClickHouse): Promise<void> {
  await clickhouse.query(TABLE)
  const script = await startGlue(broker.mqtt, clickhouse)
  const devices = deviceIds(SOCKETS).map((id) => ({ id, token: undefined }))
  try {
    await withGenerator(async (generator) => {
      await generator.open({ ...broker.mqtt, devices, connectsAtOnce: 256, ringSize: 64, greet: false })
      // Enough messages to outlast the start, and few enough to wait in mosquitto, which accepts more than the script can
      // handle.
      const job = { window: 16, durationMs: 60_000 }
      await generator.closed({ ...job, messagesPerDevice: 50 })
      await counted({ clickhouse, script }, 50 * SOCKETS)
      const pids = [broker.pid, script.pid, clickhouse.pid]
      const noise = new NoiseMeter()
      const before = pids.map(sampleCpu)
      const run = await generator.closed({ ...job, messagesPerDevice: bench.quick ? 100 : 300 })
      const countedAt = await counted({ clickhouse, script }, 50 * SOCKETS + run.messages)
      const micros = pids.map((pid, at) => usedSince(before[at], pid) / run.messages)
      addFigures(bench, { run, micros, seconds: (countedAt - run.firstSentAt) / 1000, noise: noise.note() })
    })
  } finally {
    await script.kill()
  }
}

function usedSince(before: CpuSample | undefined, pid: number): number {
  return before === undefined ? Number.NaN : cpuBetween(before, sampleCpu(pid)).totalMicros
}

async function counted(
  { clickhouse, script }: { readonly clickhouse: ClickHouse; readonly script: Program },
  messages: number,
): Promise<number> {
  return until(
    `${messages} messages through the script`,
    { deadlineMs: COUNT_MS, everyMs: 100 },
    async () => {
      if (script.isGone()) throw new Error(`the script ended: ${script.said()}`)
      const rows = Number(await clickhouse.query('SELECT count() FROM glue'))
      return rows >= messages * LEAVES ? ticks() : undefined
    },
  )
}

interface GlueRun {
  readonly run: RunResult
  readonly seconds: number
  /** CPU per message of broker, script and ClickHouse. */
  readonly micros: readonly number[]
  readonly noise: string
}

function addFigures(bench: Bench, { run, seconds, micros, noise }: GlueRun): void {
  const [broker = 0, script = 0, inserts = 0] = micros
  const total = broker + script + inserts
  const scenario = glueName
  bench.add(
    {
      scenario,
      name: 'messages/s',
      value: run.messages / seconds,
      unit: '',
      note: `${toDigits(run.messages)} messages in ${toDigits(seconds)} s, until counted${noise}`,
    },
    {
      scenario,
      name: 'CPU per message',
      value: total,
      unit: 'µs',
      note: `mosquitto ${toDigits(broker)}, script ${toDigits(script)}, ClickHouse ${toDigits(inserts)}`,
    },
  )
  for (const durability of ['power', 'process'] as const) {
    const ours = bench.find(ingestName(SOCKETS, durability), 'CPU per message')
    if (ours === undefined) continue
    bench.add({
      scenario,
      name: `CPU compared with ours, ${durability}`,
      value: total / ours,
      unit: '×',
      target: { kind: 'at_least', value: 3 },
    })
  }
}
