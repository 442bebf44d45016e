// Charts and the small lines of cells.
import { fixedRange, type Span, spanOf } from '../../address/time-range.ts'
import { Chart } from '../../charts/chart.tsx'
import type { Columns } from '../../charts/columns.ts'
import { Spark } from '../../charts/spark.tsx'

const END = Date.parse('2026-03-01T12:00:00Z')
const STEP_MS = 60_000
const SPAN: Span = { fromMs: END - 60 * STEP_MS, toMs: END }
const NOTHING: Columns = { times: [], lines: [] }

const times = Array.from({ length: 60 }, (_, i) => SPAN.fromMs + i * STEP_MS)
const wave = (shift: number) =>
  times.map((_, i) => (i > 40 && i < 46 ? null : 20 + Math.sin(i / 6 + shift) * 5))
const one: Columns = {
  times,
  lines: [
    {
      name: 'temperature',
      values: wave(0),
      band: {
        low: wave(0).map((value) => value && value - 1),
        high: wave(0).map((value) => value && value + 1),
      },
    },
  ],
}
const many: Columns = {
  times,
  lines: Array.from({ length: 8 }, (_, i) => ({ name: `pump-${i}`, values: wave(i) })),
}
const stay = () => undefined

export function ChartStates() {
  const chosen = spanOf(fixedRange(END - 20 * STEP_MS, END - 10 * STEP_MS), END)
  return (
    <section class="card stack">
      <h2>Chart, Spark</h2>
      <Chart
        title="With a band, a gap, a threshold and events"
        unit="°C"
        columns={one}
        span={SPAN}
        thresholds={[{ value: 26, text: 'alert above 26', severity: 'critical' }]}
        markers={[
          { at: END - 30 * STEP_MS, kind: 'status', text: 'offline → online' },
          { at: END - 10 * STEP_MS, kind: 'alert', text: 'too hot: fired' },
        ]}
        syncKey="parts"
        onRange={stay}
      />
      <Chart title="Eight lines" columns={many} span={SPAN} hasTable syncKey="parts" onRange={stay} />
      <Chart
        title="A chosen part"
        columns={one}
        span={SPAN}
        chosen={chosen}
        height={96}
        syncKey="strip"
        onRange={stay}
      />
      <Chart title="Nothing" columns={NOTHING} span={SPAN} height={120} syncKey="nothing" onRange={stay} />
      <Spark values={wave(0)} />
    </section>
  )
}
