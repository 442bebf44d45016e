// Reads the generators of telemetry fields: `{kind: walk, min: 10, max: 30}`, `walk` alone with its defaults, or a
// constant value.
import type { Json } from '../../../../schemas/json.ts'
import type { Section } from '../../config/yaml-file.ts'
import type { Field, Generator } from './scenario.ts'

const KINDS = ['constant', 'walk', 'sine', 'ramp', 'enum', 'counter', 'gps', 'csv'] as const
type Kind = (typeof KINDS)[number]

const FIELDS_MAX = 200
const VALUES_MAX = 10_000
const NUMBER = { min: -1e15, max: 1e15 }
const DIGITS = { min: 0, max: 8, isWhole: true }
const PERIOD_SEC = { min: 0.1, max: 31_536_000 }
const PERIOD_SEC_DEFAULT = 60
const FIELD = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/
const DEFAULT_FIELDS: readonly Field[] = [
  { name: 'temperature', generator: { ...bounds(10, 35), kind: 'walk', start: undefined, step: 0.3 } },
  { name: 'battery', generator: { ...bounds(20, 100), kind: 'walk', start: undefined, step: 0.5 } },
]

function bounds(min: number, max: number) {
  return { min, max, digits: 2 }
}

export function readFields(section: Section, readFile: (path: string) => string): readonly Field[] {
  const names = section.keys()
  const fields = names.slice(0, FIELDS_MAX).map((name): Field => {
    if (!FIELD.test(name)) section.refuse(name, 'must be a name of letters, digits, dots, - and _')
    return { name, generator: readGenerator(section, name, readFile) }
  })
  if (names.length > FIELDS_MAX)
    section.refuse(names[FIELDS_MAX] ?? '', `exceeds the limit of ${FIELDS_MAX} fields`)
  section.end()
  return fields.length > 0 ? fields : DEFAULT_FIELDS
}

function readGenerator(section: Section, name: string, readFile: (path: string) => string): Generator {
  const value = section.value(name)
  if (typeof value === 'number' || typeof value === 'boolean') return { kind: 'constant', value }
  if (typeof value === 'string') {
    const kind = KINDS.find((known) => known === value)
    if (kind === undefined) section.refuse(name, `must be one of ${KINDS.join(', ')}, or {kind: …}`)
    if (kind === 'constant' || kind === 'enum' || kind === 'csv')
      section.refuse(name, `${kind} needs its values: {kind: ${kind}, …}`)
    return read(kind ?? 'walk', section.empty(name), readFile)
  }
  const options = section.section(name)
  const kind = options.oneOf('kind', KINDS)
  if (!options.has('kind')) options.refuse('kind', `is required, one of ${KINDS.join(', ')}`)
  // Without a known kind nobody can tell which keys are allowed.
  if (kind === undefined) return { kind: 'constant', value: 0 }
  const generator = read(kind, options, readFile)
  options.end()
  return generator
}

function read(kind: Kind, options: Section, readFile: (path: string) => string): Generator {
  const number = (key: string, otherwise: number): number => options.number(key, NUMBER) ?? otherwise
  const digits = (): number => options.number('digits', DIGITS) ?? 2
  const periodSec = (): number => options.number('period_sec', PERIOD_SEC) ?? PERIOD_SEC_DEFAULT
  switch (kind) {
    case 'constant':
      return { kind, value: readValue(options) }
    case 'walk': {
      const [min, max] = readBounds(options)
      return {
        ...{ kind, min, max, start: options.number('start', { min, max }), digits: digits() },
        step: options.number('step', { min: 0, max: NUMBER.max }) ?? (max - min) / 50,
      }
    }
    case 'sine': {
      const [min, max] = readBounds(options)
      return { kind, min, max, periodSec: periodSec(), digits: digits() }
    }
    case 'ramp':
      return {
        kind,
        from: number('from', 0),
        to: number('to', 100),
        periodSec: periodSec(),
        digits: digits(),
      }
    case 'enum':
      return {
        kind,
        values: readValues(options),
        holdSec: options.number('hold_sec', { min: 0, max: 1e9 }) ?? 0,
      }
    case 'counter':
      return { kind, start: number('start', 0), step: number('step', 1) }
    case 'gps':
      return {
        kind,
        lat: options.number('lat', { min: -85, max: 85 }) ?? 52.52,
        lon: options.number('lon', { min: -180, max: 180 }) ?? 13.405,
        radiusM: options.number('radius_m', { min: 1, max: 1e6 }) ?? 500,
        speedMps: options.number('speed_mps', { min: 0, max: 1_000 }) ?? 1.5,
      }
    case 'csv':
      return { kind, values: readColumn(options, readFile) }
  }
}

function readBounds(options: Section): readonly [number, number] {
  const min = options.number('min', NUMBER) ?? 0
  const max = options.number('max', NUMBER) ?? min + 100
  if (max < min) options.refuse('max', 'must not be less than min')
  return [min, Math.max(min, max)]
}

/** Reads the key `value`, which may be a number, a text or a flag. */
export function readValue(options: Section): Json {
  const value = options.value('value')
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string') return value
  options.refuse('value', 'is required: a number, a text, true or false')
  return 0
}

function readValues(options: Section): readonly Json[] {
  const value = options.value('values')
  const isRight = (each: unknown) => ['number', 'boolean', 'string'].includes(typeof each)
  if (Array.isArray(value) && value.length > 0 && value.length <= VALUES_MAX && value.every(isRight))
    return value
  options.refuse('values', `must be a list of 1 to ${VALUES_MAX} numbers, texts, true or false`)
  return [0]
}

/** Reads one column of a CSV file with a header line. Quoted values are not supported. */
function readColumn(options: Section, readFile: (path: string) => string): readonly Json[] {
  const [path, column] = [options.required('file'), options.required('column')]
  if (path === '' || column === '') return [0]
  try {
    const [header = '', ...rows] = readFile(path)
      .split(/\r?\n/)
      .filter((line) => line.trim() !== '')
    const at = header
      .split(',')
      .map((name) => name.trim())
      .indexOf(column)
    if (at < 0) options.refuse('column', `is not in the file, whose columns are ${header}`)
    else if (rows.length === 0) options.refuse('file', `${path} has no rows`)
    else return rows.slice(0, VALUES_MAX).map((row) => toValue(row.split(',')[at]?.trim() ?? ''))
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    options.refuse('file', `${path} cannot be read (${reason})`)
  }
  return [0]
}

function toValue(text: string): Json {
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}
