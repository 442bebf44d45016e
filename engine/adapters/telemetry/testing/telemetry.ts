// For tests of telemetry adapters: blocks made from messages as a test writes them.
import { type DeviceId, Micros } from '../../../../schemas/ids.ts'
import { HistoryColumns } from '../../../domain/history/columns.ts'
import { type HistoryRow, type WrittenRow, writtenRow } from '../../../domain/history/row.ts'
import { StringBytes } from '../../../domain/telemetry/dictionary.ts'
import { bytesOf, encodeBlock } from '../../../domain/telemetry/native-writer.ts'
import { Rows } from '../../../domain/telemetry/rows.ts'
import type { Block } from '../../../ports/telemetry.ts'
import type { ClickHouseTelemetry } from '../clickhouse/clickhouse.ts'
import type { Endpoint } from '../clickhouse/clickhouse-link.ts'

export interface Message<Value extends number | string = number> {
  readonly device: string
  readonly at: number
  /** Microseconds, and `at` by default. */
  readonly receivedAt?: number
  readonly version: number
  readonly values: Readonly<Record<string, Value>>
}

/** Test ids need no check. */
export const DeviceIdOf = (text: string): DeviceId => text as DeviceId

/** Begins with a single attempt, and rejects if that fails. */
export async function begun(telemetry: ClickHouseTelemetry): Promise<ClickHouseTelemetry> {
  try {
    await telemetry.begin((fault) => {
      throw fault
    })
    return telemetry
  } catch (fault) {
    await telemetry.close()
    throw fault
  }
}

/** The URL as an operator writes it in the settings. */
export function urlOf({ url, username, password }: Endpoint): string {
  const written = new URL(url)
  written.username = encodeURIComponent(username)
  written.password = encodeURIComponent(password)
  return written.href
}

export function pointsBlock(messages: readonly Message[]): Block {
  const rows = collect(messages)
  const values = Float64Array.from(messages.flatMap((message) => Object.values(message.values)))
  return { kind: 'points', bytes: encodeBlock(rows, 'points', bytesOf(values)), rows: values.length }
}

export function textsBlock(messages: readonly Message<string>[]): Block {
  const rows = collect(messages)
  const values = new StringBytes()
  for (const message of messages) for (const text of Object.values(message.values)) values.add(text)
  return { kind: 'texts', bytes: encodeBlock(rows, 'texts', values.view), rows: rows.items }
}

export function historyBlock(rows: readonly HistoryRow[]): Block {
  return { kind: 'history', ...encodeRows(rows.map(writtenRow)) }
}

export function auditBlock(rows: readonly WrittenRow[]): Block {
  return { kind: 'audit', ...encodeRows(rows) }
}

function encodeRows(rows: readonly WrittenRow[]) {
  const columns = new HistoryColumns()
  for (const row of rows) columns.add(row, row.at)
  const taken = columns.take()
  if (taken === undefined) throw new Error('a block has rows')
  return taken
}

function collect(messages: readonly Message<number | string>[]): Rows {
  const rows = new Rows()
  for (const { device, at, receivedAt = at, version, values } of messages) {
    for (const metric of Object.keys(values)) rows.add(rows.metrics.indexOf(metric))
    const about = { deviceId: DeviceIdOf(device), name: undefined, receivedAt: Micros(receivedAt), version }
    rows.close(about, Micros(at))
  }
  return rows
}

/** Names that an adapter must pass on as they are. */
export const METRIC_NAMES = [
  "'",
  "'; DROP TABLE points; --",
  "\\'",
  '\\',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: an injection attempt, not a template.
  '"`${}',
  '{device:String}',
  'a\tb\nc\rd',
  '\0',
  "x' OR '1'='1",
  'é漢字🙂',
  '--',
  '/*',
  '%_',
]
