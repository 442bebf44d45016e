// Measures requests to ClickHouse: the CPU time of this process and of the chdb process, as the best and the median of
// several rounds.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeviceIdOf, pointsBlock } from '../../engine/adapters/telemetry/testing/telemetry.ts'
import { gridOf } from '../../engine/domain/telemetry/grid.ts'
import type { Block } from '../../engine/ports/telemetry.ts'
import { Millis } from '../../schemas/ids.ts'
import { parseStat } from '../measure/cpu.ts'
import { type OpenTelemetry, withTelemetry } from '../targets/clickhouse.ts'

const ROUNDS = 9
const DAY = Date.UTC(2025, 0, 1)
const span = { from: Millis(DAY), to: Millis(DAY + 3_600_000) }
const QUERY = {
  deviceIds: [DeviceIdOf('d7')],
  by: 'device',
  metrics: ['a'],
  ...span,
  grid: gridOf({ interval: '1m', ...span }),
  aggregates: ['avg'],
  lateHours: [],
} as const

let sent = 0
function block(messages: number): Block {
  return pointsBlock(
    Array.from({ length: messages }, (_, i) => {
      const n = sent++
      return {
        device: `d${i % 100}`,
        at: DAY * 1000 + n * 100_000,
        version: n,
        values: { a: i, b: i, c: i, d: i },
      }
    }),
  )
}

async function measure(
  { clickhouse }: OpenTelemetry,
  title: string,
  run: () => Promise<number>,
): Promise<void> {
  const child = () => parseStat(readFileSync(`/proc/${clickhouse.pid}/stat`, 'latin1')).cpuMicros
  const own: number[] = []
  const chdb: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = { own: process.cpuUsage(), chdb: child() }
    const count = await run()
    const { user, system } = process.cpuUsage(before.own)
    own.push((user + system) / count)
    chdb.push((child() - before.chdb) / count)
  }
  const shown = [own, chdb].map((all) => {
    const sorted = all.sort((a, b) => a - b)
    return `${sorted[0]?.toFixed(0)} ${sorted[ROUNDS >> 1]?.toFixed(0)}`.padStart(16)
  })
  console.log(title.padEnd(28) + shown.join(''))
}

const dir = mkdtempSync(join(tmpdir(), 'fleet-bench-clickhouse-'))
await withTelemetry(dir, async (open) => {
  const { telemetry } = open
  await telemetry.insert(block(20_000))
  console.log(`${'CPU us per request'.padEnd(28)}${'here'.padStart(16)}${'chdb'.padStart(16)}`)
  await measure(open, 'a series of an hour', async () => {
    const count = 60
    for (let i = 0; i < count; i++) await telemetry.series(QUERY)
    return count
  })
  for (const messages of [1_000, 25_000]) {
    const blocks = Array.from({ length: ROUNDS }, () => Array.from({ length: 6 }, () => block(messages)))
    await measure(open, `a block of ${messages * 4} points`, async () => {
      const round = blocks.pop() ?? []
      for (const one of round) await telemetry.insert(one)
      return round.length
    })
  }
})
rmSync(dir, { recursive: true, force: true })
