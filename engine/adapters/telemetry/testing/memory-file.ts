// Exports of telemetry as text. Parquet needs the real engine.
import type { DeviceId } from '../../../../schemas/ids.ts'
import { Fault } from '../../../ports/fault.ts'
import type { Export, Series } from '../../../ports/telemetry.ts'
import type { TimedPoint } from './memory-series.ts'

type Row = Readonly<Record<string, string | number | null | undefined>>
type Points = {
  readonly deviceId: DeviceId
  readonly metric: string
  readonly points: readonly TimedPoint<number | string>[]
}

export async function* toFile(what: Export, found: readonly (Series | Points)[]): AsyncGenerator<Uint8Array> {
  if (what.format === 'parquet')
    throw new Fault('TELEMETRY_REFUSED', { retryable: false, message: 'there is no Parquet in memory' })
  const values = what.kind === 'points' ? ['value', 'text'] : what.query.aggregates
  const isGroup = what.kind === 'series' && what.query.by === 'group'
  const columns = [...(isGroup ? [] : ['device_id']), 'metric', 'time', ...values]
  if (what.format === 'csv') yield Buffer.from(`${columns.map((name) => `"${name}"`).join(',')}\n`)
  for (const series of found) {
    const keys = { ...(isGroup ? {} : { device_id: series.deviceId ?? '' }), metric: series.metric }
    for (const row of rowsOf(series))
      yield Buffer.from(
        what.format === 'csv' ? toCsv({ ...keys, ...row }) : `${JSON.stringify({ ...keys, ...row })}\n`,
      )
  }
}

function rowsOf(series: Series | Points): readonly Row[] {
  if ('buckets' in series)
    return series.buckets.map(({ time, ...values }) => ({ time: toIsoMicros(time * 1000), ...values }))
  return series.points.map(({ at, value }) => ({
    time: toIsoMicros(at),
    value: typeof value === 'number' ? value : null,
    text: typeof value === 'string' ? value : null,
  }))
}

function toCsv(row: Row): string {
  const cell = (value: string | number | null | undefined) => {
    if (typeof value !== 'string') return value === null || value === undefined ? '' : String(value)
    return `"${value.replace(/^(?=[-=+@＝＋－＠\t\r\n])/, "'").replaceAll('"', '""')}"`
  }
  return `${Object.values(row).map(cell).join(',')}\n`
}

const toIsoMicros = (at: number) =>
  new Date(Math.floor(at / 1000)).toISOString().replace('Z', `${String(at % 1000).padStart(3, '0')}Z`)
