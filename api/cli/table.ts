// Text output: aligned columns on a terminal, tab-separated values for other programs.

export interface TableStyle {
  /** Aligned columns are used only on a terminal. */
  readonly isTerminal: boolean
  readonly isColoured: boolean
  /** Line width in characters. */
  readonly width: number
}

/** The text of a value in a cell. A missing value is a dash on a terminal, and empty otherwise. */
export function cellText(value: unknown, { isTerminal }: Pick<TableStyle, 'isTerminal'>): string {
  if (value === undefined || value === null || value === '') return isTerminal ? '-' : ''
  if (Array.isArray(value)) return value.map((one) => cellText(one, { isTerminal })).join(',')
  return clean(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

/** Replaces control characters: text from devices must neither control the terminal nor break columns. */
export function clean(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (char) => (/\s/.test(char) ? ' ' : '\ufffd'))
}

const BOLD = '1'
const GREEN = '32'
const YELLOW = '33'
const RED = '31'
const COLOURS: Readonly<Record<string, string>> = {
  online: GREEN,
  completed: GREEN,
  ok: GREEN,
  ready: GREEN,
  maintenance: YELLOW,
  pending: YELLOW,
  warn: YELLOW,
  expired: YELLOW,
  error: RED,
  fatal: RED,
  failed: RED,
  rejected: RED,
  bad: RED,
}

export function tableText(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  style: TableStyle,
): string {
  if (!style.isTerminal) return rows.map((row) => `${row.join('\t')}\n`).join('')
  const widths = widthsOf(head, rows)
  const line = (cells: readonly string[], paint: (text: string, cell: string) => string) => {
    let left = style.width
    const shown = cells.map((cell, i) => {
      const width = widths[i] ?? 0
      const text = truncate(i === cells.length - 1 ? cell : cell.padEnd(width), left)
      left -= width + 2
      return paint(text, cell)
    })
    return `${shown.join('  ').trimEnd()}\n`
  }
  const heading = line(head, (text) => painted(text, BOLD, style))
  return heading + rows.map((row) => line(row, (text, cell) => painted(text, COLOURS[cell], style))).join('')
}

/** How many columns, counted from the first, have at least some room on the line. */
export function visibleColumns(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { isTerminal, width }: TableStyle,
): number {
  if (!isTerminal) return head.length
  let left = width
  const at = widthsOf(head, rows).findIndex((columnWidth) => {
    const isHidden = left < ROOM_LEAST
    left -= columnWidth + 2
    return isHidden
  })
  return at < 0 ? head.length : at
}

/** Room for one character and an ellipsis. */
const ROOM_LEAST = 2

function widthsOf(head: readonly string[], rows: readonly (readonly string[])[]): readonly number[] {
  return head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)))
}

export function fieldsText(fields: readonly (readonly [string, string])[], style: TableStyle): string {
  if (!style.isTerminal) return fields.map(([name, value]) => `${name}\t${value}\n`).join('')
  const width = Math.max(0, ...fields.map(([name]) => name.length))
  return fields
    .map(
      ([name, value]) =>
        `${painted(name.padEnd(width), BOLD, style)}  ${painted(value, COLOURS[value], style)}\n`,
    )
    .join('')
}

function painted(text: string, colour: string | undefined, { isColoured }: TableStyle): string {
  return colour === undefined || !isColoured ? text : `\u001b[${colour}m${text}\u001b[0m`
}

function truncate(text: string, width: number): string {
  if (text.length <= width) return text
  return width < 2 ? '' : `${text.slice(0, width - 1)}…`
}
