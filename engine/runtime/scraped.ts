// Metrics that are read on each scrape from counts that are kept anyway.
import { Counter, Gauge, type Registry } from 'prom-client'

/** Counts since the start of the process, by the label's value; `all` where there is no label. */
export type Totals = Readonly<Record<string, number>>

export interface ScrapedOptions {
  readonly name: string
  readonly help: string
  readonly labelNames?: string[]
}

export function readGauge(
  registry: Registry,
  { name, help, labelNames = [] }: ScrapedOptions,
  set: (gauge: Gauge) => void,
): void {
  const collect = () => set(gauge)
  const gauge: Gauge = new Gauge({ name, help, labelNames, registers: [registry], collect })
}

export function readTotals(
  registry: Registry,
  { name, help, label }: Omit<ScrapedOptions, 'labelNames'> & { readonly label?: string },
  totals: () => Totals,
): void {
  const counter: Counter = new Counter({
    name,
    help,
    labelNames: label === undefined ? [] : [label],
    registers: [registry],
    collect() {
      counter.reset()
      for (const [value, total] of Object.entries(totals()))
        counter.inc(label === undefined ? {} : { [label]: value }, total)
    },
  })
}
