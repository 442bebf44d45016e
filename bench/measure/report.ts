// Writes the report, with tables of figures, their targets and floors.

export interface Figure {
  readonly scenario: string
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly target?: { readonly kind: 'at_least' | 'at_most'; readonly value: number }
  /** The ratio of this figure to a floor. 1 means that it is as good as the floor. */
  readonly floorShare?: { readonly of: string; readonly share: number }
  readonly note?: string
}

export type Verdict = 'met' | 'missed' | ''

export function verdictOf({ value, target }: Figure): Verdict {
  if (target === undefined) return ''
  const isMet = target.kind === 'at_least' ? value >= target.value : value <= target.value
  return isMet ? 'met' : 'missed'
}

const HEADINGS = ['scenario', 'figure', 'value', 'target', '', 'share of floor', 'notes'] as const

/** Writes a Markdown table with aligned columns, so that it can be read on a terminal too. */
export function toTable(figures: readonly Figure[]): string {
  const rows = figures.map((figure, at) => [
    figures[at - 1]?.scenario === figure.scenario ? '' : figure.scenario,
    figure.name,
    `${toDigits(figure.value)} ${figure.unit}`.trim(),
    figure.target === undefined
      ? ''
      : `${figure.target.kind === 'at_least' ? '≥' : '≤'} ${toDigits(figure.target.value)}`,
    verdictOf(figure),
    figure.floorShare === undefined
      ? ''
      : `${toDigits(100 * figure.floorShare.share)} % of ${figure.floorShare.of}`,
    figure.note ?? '',
  ])
  const widths = HEADINGS.map((heading, at) =>
    Math.max(3, heading.length, ...rows.map((row) => row[at]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const rule = widths.map((width) => '-'.repeat(width))
  return [line(HEADINGS), line(rule), ...rows.map(line)].join('\n')
}

/** Rounds to three significant digits and separates thousands. */
export function toDigits(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en').replaceAll(',', ' ')
  return String(Number(value.toPrecision(3)))
}

/** The part of the report that has the results of one scenario. */
export interface ReportPart {
  readonly name: string
  readonly about: string
  /** Date, commit and machine of the measurement. */
  readonly conditions: string
  readonly figures: readonly Figure[]
}

const HEAD = `# Benchmarks

Written by \`npm run bench\`; do not edit. Each part says when it was measured, and with which commit: compare figures within a
part only.
`

/** Returns the report `before` with new parts for the scenarios that were measured. Other scenarios keep their parts. */
export function toReport(
  before: string,
  parts: readonly ReportPart[],
  { order, method }: { readonly order: readonly string[]; readonly method: string },
): string {
  const texts = new Map(before.split(/^(?=## )/m).map((text) => [/^## (.*)/.exec(text)?.[1], text]))
  for (const part of parts) texts.set(part.name, toText(part))
  const sections = [HEAD, ...order.flatMap((name) => texts.get(name) ?? []), method]
  return `${sections.map((text) => text.trim()).join('\n\n')}\n`
}

function toText({ name, about, conditions, figures }: ReportPart): string {
  return `## ${name}\n\nMeasures ${about}.\n\n${conditions}.\n\n${toTable(figures)}`
}
