// Reads a YAML file value by value and records each mistake with its line, so that the user sees all of them at once.
import { LineCounter, parseDocument, visit } from 'yaml'
import { unknownName } from '../../../schemas/nearest-name.ts'

export type Path = readonly (string | number)[]

export interface Problem {
  /** Counted from 1. */
  readonly line: number
  /** Example: `bridges[0].ros_topic` */
  readonly path: string
  readonly message: string
}

const PROBLEMS_MAX = 50
const BYTES_MAX = 256 * 1024
const SECOND_DOCUMENT = 'a second document begins here; the file may have only one'

export class YamlFile {
  readonly problems: Problem[] = []
  readonly root: unknown
  readonly #environment: Readonly<Record<string, string | undefined>>
  readonly #lineOf: (path: Path) => number

  /** `environment` provides the values for `${NAME}`. */
  constructor(text: string, environment: Readonly<Record<string, string | undefined>>) {
    this.#environment = environment
    const lines = new LineCounter()
    const lineAt = (offset: number | undefined) => lines.linePos(offset ?? 0).line
    const isTooLarge = Buffer.byteLength(text) > BYTES_MAX
    if (isTooLarge)
      this.problems.push({ line: 1, path: '', message: `the file is larger than ${BYTES_MAX} bytes` })
    const document = parseDocument(isTooLarge ? '' : text, {
      ...{ lineCounter: lines, schema: 'core', merge: false, uniqueKeys: true, prettyErrors: false },
      logLevel: 'error',
    })
    this.#lineOf = (path) => {
      for (let length = path.length; length > 0; length--) {
        // Only nodes that were parsed from text have a range.
        const node = document.getIn(path.slice(0, length), true) as { range?: [number] } | undefined
        if (node?.range !== undefined) return lineAt(node.range[0])
      }
      return lineAt(document.contents?.range[0])
    }
    for (const { pos, code, message } of document.errors)
      this.problems.push({
        line: lineAt(pos[0]),
        path: '',
        message: code === 'MULTIPLE_DOCS' ? SECOND_DOCUMENT : message,
      })
    if (document.contents === null && this.problems.length === 0)
      this.problems.push({ line: 1, path: '', message: 'the file is empty' })
    // Aliases are refused because they could expand without bound.
    visit(document, {
      Alias: (_key, { range, source }) => {
        this.problems.push({
          line: lineAt(range?.[0]),
          path: '',
          message: `contains an alias (*${source}), and aliases are not allowed`,
        })
        return visit.BREAK
      },
    })
    this.root = this.problems.length > 0 ? undefined : document.toJS({ maxAliasCount: 0 })
  }

  refuse(path: Path, message: string): undefined {
    if (this.problems.length >= PROBLEMS_MAX) return
    this.problems.push({ line: this.#lineOf(path), path: pathText(path), message })
  }

  /** Returns the fields of a mapping. Any other value is recorded as a mistake and read as an empty mapping. */
  section(value: unknown, path: Path): Section {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return new Section(this, path, new Map(Object.entries(value)))
    this.refuse(path, 'must be a mapping of keys to values')
    return new Section(this, path, new Map())
  }

  /** Replaces each `${NAME}` with its value in the environment. */
  expand(text: string, path: Path): string {
    return text.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]{0,127})\}/g, (_, name: string) => {
      const value = this.#environment[name]
      if (value === undefined) this.refuse(path, `needs the environment variable ${name}, which is not set`)
      return value ?? ''
    })
  }
}

interface Range {
  readonly min: number
  readonly max: number
  readonly isWhole?: boolean
}

/** Reads one mapping. `end` records a mistake for each key that was not read before. */
export class Section {
  readonly #file: YamlFile
  readonly #path: Path
  readonly #fields: ReadonlyMap<string, unknown>
  readonly #read = new Set<string>()

  constructor(file: YamlFile, path: Path, fields: ReadonlyMap<string, unknown>) {
    this.#file = file
    this.#path = path
    this.#fields = fields
  }

  keys(): readonly string[] {
    return [...this.#fields.keys()]
  }

  /** Returns the value as written in the file, for keys that accept several shapes. */
  value(key: string): unknown {
    return this.#get(key)
  }

  refuse(key: string, message: string): undefined {
    return this.#file.refuse([...this.#path, key], message)
  }

  has(key: string): boolean {
    return this.#get(key) !== undefined
  }

  text(key: string): string | undefined {
    const value = this.#get(key)
    if (value === undefined) return undefined
    if (typeof value !== 'string') return this.refuse(key, `must be text, is ${JSON.stringify(value)}`)
    if (value === '') return this.refuse(key, 'must not be empty')
    return this.#file.expand(value, [...this.#path, key])
  }

  required(key: string): string {
    if (!this.has(key)) this.refuse(key, 'is required')
    return this.text(key) ?? ''
  }

  number(key: string, range: Range): number | undefined {
    const value = this.#get(key)
    if (value === undefined) return undefined
    const isRight = typeof value === 'number' && value >= range.min && value <= range.max
    if (isRight && (range.isWhole !== true || Number.isInteger(value))) return value
    const kind = range.isWhole === true ? 'a whole number' : 'a number'
    return this.refuse(key, `must be ${kind} from ${range.min} to ${range.max}`)
  }

  flag(key: string): boolean {
    const value = this.#get(key)
    if (value === undefined || typeof value === 'boolean') return value ?? false
    this.refuse(key, 'must be true or false')
    return false
  }

  oneOf<Word extends string | number>(key: string, words: readonly Word[]): Word | undefined {
    const value = this.#get(key)
    if (value === undefined) return undefined
    const word = words.find((each) => each === value)
    return word ?? this.refuse(key, `must be one of ${words.join(', ')}`)
  }

  texts(key: string, most: number): readonly string[] {
    const value = this.#get(key)
    if (value === undefined) return []
    if (Array.isArray(value) && value.length <= most && value.every((each) => typeof each === 'string'))
      return value
    this.refuse(key, `must be a list of at most ${most} texts`)
    return []
  }

  /** Returns an empty mapping that stands at the place of this key. */
  empty(key: string): Section {
    return this.#file.section({}, [...this.#path, key])
  }

  section(key: string): Section {
    return this.#file.section(this.#get(key) ?? {}, [...this.#path, key])
  }

  /** Returns an empty list if the key is missing. */
  optionalSections(key: string, most: number): readonly Section[] {
    return this.has(key) ? this.sections(key, most) : []
  }

  sections(key: string, most: number): readonly Section[] {
    const value = this.#get(key)
    if (!Array.isArray(value) || value.length === 0 || value.length > most) {
      this.refuse(key, `must be a list of 1 to ${most} entries`)
      return []
    }
    return value.map((each, at) => this.#file.section(each, [...this.#path, key, at]))
  }

  end(): void {
    for (const key of this.#fields.keys())
      if (!this.#read.has(key)) this.refuse(key, unknownName(key, [...this.#read]))
  }

  #get(key: string): unknown {
    this.#read.add(key)
    return this.#fields.get(key) ?? undefined
  }
}

function pathText(path: Path): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  )
}
