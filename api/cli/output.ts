// Output of a command: results go to stdout, so that they can be piped, and all other messages to stderr.
import { EXIT, Failure, type FailureReport } from './failure.ts'
import { type Pages, take } from './paged.ts'
import { cellText, clean, fieldsText, type TableStyle, tableText, visibleColumns } from './table.ts'

export interface Writer {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/** `wide` is a table whose lines a terminal may wrap. `name` prints only the first column. */
export const OUTPUT_FORMS = ['table', 'wide', 'json', 'name'] as const
export type OutputForm = (typeof OUTPUT_FORMS)[number]

export interface OutputStyle {
  readonly form: OutputForm
  readonly isPlain: boolean
  /** Replaces the columns that a command chose. */
  readonly columns: readonly string[] | undefined
}

/** A column's title, and the function that reads its value. */
export type Column<Item> = readonly [string, (item: Item) => unknown]

export interface Output {
  readonly isJson: boolean
  /** Prints one object: all of its fields, or only `fields`. */
  item<Item extends object>(item: Item, fields?: readonly Column<Item>[]): void
  list<Item>(items: readonly Item[], columns: readonly Column<Item>[]): void
  /** Prints the first items of a list as a table, and notes if there are more. */
  listFirst<Item>(pages: Pages<Item>, limit: number, columns: readonly Column<Item>[]): Promise<void>
  /** Prints one line of a continuing stream. */
  event(value: unknown, cells: () => readonly unknown[]): void
  /** Prints text unchanged. */
  text(text: string): void
  /** Prints a message to stderr. */
  note(text: string): void
  /** Shows transient progress on a terminal. It replaces the previous text; undefined clears it. */
  progress(text: string | undefined): void
  failure(report: FailureReport): void
}

export interface Streams {
  readonly stdout: Writer
  readonly stderr: Writer
}

const WIDTH_DEFAULT = 80

export function createOutput(
  { stdout, stderr }: Streams,
  { form, isPlain, columns: wanted }: OutputStyle,
): Output {
  const isJson = form === 'json'
  const style: TableStyle = {
    isTerminal: stdout.isTTY === true,
    isColoured: stdout.isTTY === true && !isPlain,
    // Some terminals report a width of 0.
    width: form === 'wide' ? Number.POSITIVE_INFINITY : stdout.columns || WIDTH_DEFAULT,
  }
  const json = (value: unknown) => stdout.write(`${jsonText(value, style.isTerminal ? 2 : undefined)}\n`)
  const progress = progressOn(stderr)
  const note: Output['note'] = (text) => {
    progress(undefined)
    stderr.write(`${clean(text)}\n`)
  }
  const list: Output['list'] = (items, columns) => {
    if (isJson) return void json(items)
    // A heading without rows would look like an error. Programs understand empty output.
    if (items.length === 0 && style.isTerminal) return note('nothing found')
    const chosen = wanted === undefined ? columns : pickColumns(wanted, columns, items)
    const shown = form === 'name' ? chosen.slice(0, 1) : chosen
    const rows = items.map((item) => shown.map(([, read]) => cellText(read(item), style)))
    const head = shown.map(([title]) => title)
    if (form === 'name') return void stdout.write(rows.map((row) => `${row.join()}\n`).join(''))
    stdout.write(tableText(head, rows, style))
    const hidden = head.slice(visibleColumns(head, rows, style))
    if (hidden.length > 0) note(`${hidden.join(', ')} did not fit; use -o wide, or --columns to choose`)
  }
  return {
    isJson,
    item(item, fields) {
      if (isJson) return void json(item)
      const shown =
        fields ?? Object.keys(item).map((name) => [name, (of: object) => Reflect.get(of, name)] as const)
      stdout.write(
        fieldsText(
          shown.map(([name, read]) => [name, cellText(read(item), style)]),
          style,
        ),
      )
    },
    list,
    async listFirst(pages, limit, columns) {
      const { items, hasMore } = await take(pages, limit, (count) => progress(`${count} read`))
      progress(undefined)
      list(items, columns)
      if (hasMore) note(`only the first ${limit} are shown; use --limit to see more`)
    },
    event(value, cells) {
      progress(undefined)
      const line = () =>
        cells()
          .map((cell) => cellText(cell, style))
          .join(style.isTerminal ? '  ' : '\t')
      stdout.write(`${isJson ? jsonText(value) : line()}\n`)
    },
    text: (text) => void stdout.write(text),
    note,
    progress,
    failure(report) {
      progress(undefined)
      stderr.write(isJson ? `${jsonText(toFailureJson(report))}\n` : failureText(report))
    },
  }
}

/** The columns named by `--columns`: by their titles, or any other field of a result by its path. */
function pickColumns<Item>(
  names: readonly string[],
  known: readonly Column<Item>[],
  items: readonly Item[],
): readonly Column<Item>[] {
  return names.map((name) => {
    const column = known.find(([title]) => plain(title) === plain(name))
    if (column !== undefined) return column
    const path = name.split('.')
    const [field = ''] = path
    if (items.length > 0 && !items.some((item) => Object.hasOwn(Object(item), field)))
      throw new Failure(EXIT.usage, unknown(name, known, items))
    return [name.toUpperCase(), (item) => valueAt(item, path)]
  })
}

/** Allows `LAST SEEN` to be written as `last_seen` or `last-seen`. */
function plain(title: string): string {
  return title.toLowerCase().replaceAll(/[ _-]/g, '')
}

function unknown<Item>(name: string, known: readonly Column<Item>[], [first]: readonly Item[]): string {
  const titles = known.map(([title]) => title.toLowerCase().replaceAll(' ', '_')).join(', ')
  const fields = Object.keys(Object(first)).join(', ')
  return `there is no column ${name}; columns are ${titles}; fields are ${fields}`
}

function valueAt(item: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (Object.hasOwn(Object(value), key) ? Reflect.get(Object(value), key) : undefined),
    item,
  )
}

/** Escapes the control characters that JSON allows unescaped, so that none of them reaches a terminal. */
function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value ?? null, null, indent).replace(
    /[\u007f-\u009f]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function progressOn(stderr: Writer): Output['progress'] {
  let shown = false
  return (text) => {
    if (stderr.isTTY !== true || (text === undefined && !shown)) return
    shown = text !== undefined
    stderr.write(`\r\u001b[K${clean(text ?? '')}`)
  }
}

function toFailureJson({ exitCode, message, code, advice, requestId }: FailureReport) {
  return {
    error: {
      code: code ?? null,
      message,
      advice: advice ?? null,
      request_id: requestId ?? null,
      exit_code: exitCode,
    },
  }
}

function failureText({ message, advice, requestId }: FailureReport): string {
  const request = requestId === undefined ? '' : ` (${requestId})`
  const lines = [
    ...`fleet: ${message}${request}`.split('\n'),
    ...(advice === undefined ? [] : [`       ${advice}`]),
  ]
  return `${lines.map(clean).join('\n')}\n`
}
