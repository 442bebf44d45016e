// Starts the glue script between a broker and a ClickHouse.
import { fileURLToPath } from 'node:url'
import type { BareBroker } from './brokers.ts'
import type { ClickHouse } from './clickhouse.ts'
import { type Program, startProgram } from './ready-line.ts'

const MAIN = fileURLToPath(new URL('./glue-main.js', import.meta.url))

export function startGlue(
  { host, port }: BareBroker['mqtt'],
  { url, user, password }: ClickHouse,
): Promise<Program> {
  const env = { ...process.env, CLICKHOUSE_USER: user, CLICKHOUSE_PASSWORD: password }
  return startProgram({ args: [MAIN, `mqtt://${host}:${port}`, url], env, readyMs: 20_000 })
}
