// Reads values of a parsed file, and notes each mistake with its line. It goes on after a mistake, so that the user sees
// all of them at once.
import { LIMITS } from '../../limits.ts'

export type Path = readonly (string | number)[]

/** A file as its parser returns it. */
export interface ParsedFile {
  readonly value: unknown
  /** The line on which the value begins, counted from 1. If the value itself has no line, that of its container. */
  lineOf(path: Path): number | undefined
}

export interface Problem {
  readonly line: number | undefined
  /** Example: `device_types.greenhouse.commands[0].name` */
  readonly path: string
  readonly message: string
}

/** Sums and differences of numbers up to this one are numbers, too. */
const NUMBER_MAX = 1e300

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= NUMBER_MAX
}

export type Fields = ReadonlyMap<string, unknown>

export class Reader {
  readonly problems: Problem[] = []
  readonly #file: ParsedFile

  constructor(file: ParsedFile) {
    this.#file = file
  }

  problem(path: Path, message: string): undefined {
    if (this.problems.length >= LIMITS.deviceTypeProblemsMax) return
    this.problems.push({ line: this.#file.lineOf(path), path: pathText(path), message })
  }

  /** Returns the fields of a mapping, and notes a problem for each key that is not `known`. */
  fields(value: unknown, path: Path, known?: readonly string[]): Fields | undefined {
    const isMapping = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (!isMapping) return this.problem(path, 'must be a mapping')
    // In a Map, `__proto__` is an ordinary key.
    const fields = new Map<string, unknown>(Object.entries(value))
    for (const key of known === undefined ? [] : fields.keys())
      if (!known?.includes(key))
        this.problem([...path, key], `is not known here; known are ${known?.join(', ')}`)
    return fields
  }

  /** Returns the items that could be read, or undefined if there is no list. */
  list<T>(value: unknown, path: Path, read: (item: unknown, path: Path) => T | undefined): T[] | undefined {
    if (value === undefined || value === null) return undefined
    if (!Array.isArray(value)) return this.problem(path, 'must be a list')
    if (value.length > LIMITS.deviceTypeEntriesMax)
      return this.problem(
        path,
        `has ${value.length} entries; at most ${LIMITS.deviceTypeEntriesMax} are allowed`,
      )
    return value.flatMap((item, i) => read(item, [...path, i]) ?? [])
  }

  text(fields: Fields, key: string, path: Path): string | undefined {
    const value = fields.get(key)
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'string') return this.problem([...path, key], `must be text, is ${describe(value)}`)
    if (value.length > LIMITS.commandTextCharsMax)
      return this.problem([...path, key], `may have at most ${LIMITS.commandTextCharsMax} characters`)
    return value
  }

  name(fields: Fields, key: string, path: Path): string | undefined {
    const isMissing = fields.get(key) === undefined || fields.get(key) === null
    const name = isMissing ? this.problem(path, `${key} is missing`) : this.text(fields, key, path)
    if (name === undefined) return undefined
    if (name !== '' && name.length <= LIMITS.commandNameCharsMax) return name
    return this.problem([...path, key], `must have 1 to ${LIMITS.commandNameCharsMax} characters`)
  }

  number(fields: Fields, key: string, path: Path): number | undefined {
    const value = fields.get(key)
    if (value === undefined || value === null) return undefined
    if (isNumber(value)) return value
    const range = typeof value === 'number' ? ` from ${-NUMBER_MAX} to ${NUMBER_MAX}` : ''
    return this.problem([...path, key], `must be a number${range}, is ${describe(value)}`)
  }

  flag(fields: Fields, key: string, path: Path): boolean {
    const value = fields.get(key)
    if (value === undefined || value === null || typeof value === 'boolean') return value === true
    this.problem([...path, key], `must be true or false, is ${describe(value)}`)
    return false
  }

  /** Notes a problem for each name that occurs twice. */
  unique<T>(items: readonly T[] | undefined, path: Path, nameOf: (item: T) => string): void {
    const seen = new Set<string>()
    for (const name of (items ?? []).map(nameOf)) {
      if (seen.has(name)) this.problem(path, `${name} is defined twice`)
      seen.add(name)
    }
  }
}

export function pathText(path: Path): string {
  return path
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`))
    .join('')
    .slice(0, LIMITS.commandTextCharsMax)
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number') return String(value)
  return typeof value === 'object' ? 'a mapping' : JSON.stringify(value).slice(0, 64)
}
