// Measures a floor: inserting blocks of telemetry that were encoded in advance, with nothing else running.
import type { Block } from '../../engine/ports/telemetry.ts'
import { BlockMaker } from '../load/blocks.ts'
import { LEAVES, METRICS, makePayloads } from '../load/payloads.ts'
import { deviceIds } from '../load/session.ts'
import { cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { ticks } from '../measure/deadline.ts'
import { flatten } from '../measure/flatten.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench } from '../scenario.ts'
import { withTelemetry } from '../targets/clickhouse.ts'

/** Messages per block. At full load the service's blocks have about as many. */
const BLOCK_ROWS = 30_000
const DEVICES = 1_000
const MICROS_PER_MESSAGE = 12
const WARM_UP_BLOCKS = 4

export async function addInsertFloor(bench: Bench): Promise<void> {
  bench.say('insert, prebuilt blocks')
  await bench.withDir((dir) =>
    withTelemetry(dir, async ({ telemetry, clickhouse }) => {
      const blocks = makeBlocks(WARM_UP_BLOCKS + (bench.quick ? 8 : 30))
      for (const block of blocks.slice(0, WARM_UP_BLOCKS)) await telemetry.insert(block)
      const measured = blocks.slice(WARM_UP_BLOCKS)
      const messages = measured.length * BLOCK_ROWS
      const before = sampleCpu(clickhouse.pid)
      const startedAt = ticks()
      for (const block of measured) await telemetry.insert(block)
      const seconds = (ticks() - startedAt) / 1000
      const { totalMicros } = cpuBetween(before, sampleCpu(clickhouse.pid))
      bench.add({
        scenario: 'floors',
        name: 'insert, prebuilt blocks',
        value: totalMicros / messages,
        unit: 'µs/message',
        note:
          `${toDigits((messages * LEAVES) / seconds)} points/s alone, ` +
          `${toDigits(totalMicros / messages / LEAVES)} µs per point, merges included`,
      })
    }),
  )
}

function makeBlocks(count: number): readonly Block[] {
  const ids = deviceIds(DEVICES)
  const maker = new BlockMaker(METRICS)
  const reports = makePayloads(4096).map((payload) => {
    const values: number[] = []
    flatten(JSON.parse(payload.toString()), '', (_, value) => values.push(value))
    return values
  })
  const startMicros = Date.now() * 1000 - count * BLOCK_ROWS * MICROS_PER_MESSAGE
  return Array.from({ length: count }, (_, block) => {
    for (let row = 0; row < BLOCK_ROWS; row++) {
      const message = block * BLOCK_ROWS + row
      const at = startMicros + message * MICROS_PER_MESSAGE
      const values = reports[message % reports.length] ?? []
      maker.add({ deviceId: ids[message % DEVICES] ?? '', at, receivedAt: at, version: message, values })
    }
    return maker.take()
  })
}
