// The tail of a device's log: a ring of lines, newest last. What the service had to leave out is a line of its own. Pure.
export interface LogLine {
  readonly kind: 'line'
  readonly at: number
  readonly level: string
  readonly message: string
  readonly logger: string | null
  readonly fields: Readonly<Record<string, unknown>>
}
export interface GapLine {
  readonly kind: 'gap'
  readonly at: number
  /** 0 if nobody knows how many. */
  readonly dropped: number
}
export type Line = LogLine | GapLine

export interface Ring {
  readonly lines: readonly Line[]
  /** Lines that fell out at the beginning. */
  readonly forgotten: number
}

export const EMPTY_RING: Ring = { lines: [], forgotten: 0 }

export function withLines({ lines, forgotten }: Ring, added: readonly Line[], linesMax: number): Ring {
  const all = [...lines, ...added]
  const over = Math.max(0, all.length - linesMax)
  return { lines: over > 0 ? all.slice(over) : all, forgotten: forgotten + over }
}

export function withGap(ring: Ring, dropped: number, at: number, linesMax: number): Ring {
  const last = ring.lines.at(-1)
  if (last?.kind === 'gap')
    return { ...ring, lines: [...ring.lines.slice(0, -1), { ...last, dropped: last.dropped + dropped }] }
  return withLines(ring, [{ kind: 'gap', at, dropped }], linesMax)
}

/** Replaces a gap by what the history has of it; there may be still more before what was found. Lines that are there already
 *  come once. */
export function filled(ring: Ring, gap: GapLine, found: readonly LogLine[], isWhole: boolean): Ring {
  const known = new Set(ring.lines.map(keyOf))
  const news = found.filter((line) => !known.has(keyOf(line)))
  const rest = gap.dropped === 0 ? gap : { ...gap, dropped: Math.max(1, gap.dropped - news.length) }
  const instead = isWhole ? news : [rest, ...news]
  return { ...ring, lines: ring.lines.flatMap((line) => (line === gap ? instead : [line])) }
}

/** How many lines came after the one at which a tail is held. Others may have been added or dropped before it. */
export function linesSince(lines: readonly Line[], held: Line): number {
  const at = lines.lastIndexOf(held)
  if (at >= 0) return lines.length - 1 - at
  // The line fell out of the ring, or was a gap that has been filled.
  return lines.filter((line) => line.at > held.at).length
}

const keyOf = (line: Line) => (line.kind === 'gap' ? '' : `${line.at} ${line.level} ${line.message}`)

export interface LogFilter {
  /** None means all. */
  readonly levels: readonly string[]
  readonly find: string
}

export function shownLines(lines: readonly Line[], { levels, find }: LogFilter): readonly Line[] {
  const text = find.toLowerCase()
  return lines.filter(
    (line) =>
      line.kind === 'gap' ||
      ((levels.length === 0 || levels.includes(line.level)) &&
        (text === '' ||
          `${line.message} ${line.logger ?? ''} ${JSON.stringify(line.fields)}`
            .toLowerCase()
            .includes(text))),
  )
}

/** A line as the service tells it. */
export interface LogEntry {
  readonly timestamp: string
  readonly level: string
  readonly message: string
  readonly logger: string | null
  readonly fields: object
}

export const toLine = ({ timestamp, level, message, logger, fields }: LogEntry): LogLine => ({
  kind: 'line',
  at: Date.parse(timestamp),
  level,
  message,
  logger,
  fields: { ...fields },
})
