// Loads the device types of a YAML file. If there is any mistake, the whole file is refused, and all mistakes are listed
// with their lines.
//
// The host passes the text and a parser, so this module needs no YAML package. The parser must refuse aliases, because
// with them a kilobyte of text could expand to gigabytes.
import { Buffer } from 'node:buffer'
import { BODY_LIMITS } from '../../../schemas/body-limits.ts'
import { DEVICE_TYPES } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import {
  type CommandDefinition,
  type DeviceType,
  type DeviceTypes,
  PARAMETER_TYPES,
  type Parameter,
  type ParameterType,
  type StatusField,
  type TelemetryField,
} from './definition.ts'
import { type Fields, isNumber, type ParsedFile, type Path, type Problem, Reader } from './reader.ts'

export type LoadOutcome =
  | { readonly kind: 'loaded'; readonly types: DeviceTypes }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }

/** Must refuse syntax errors and aliases. */
export type ParseFile = (
  text: string,
) =>
  | ({ readonly kind: 'parsed' } & ParsedFile)
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }

const TYPE_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
const ROOT = 'device_types'

export function loadDeviceTypes(text: string, parse: ParseFile): LoadOutcome {
  const bytes = Buffer.byteLength(text)
  if (bytes > LIMITS.deviceTypeBytesMax) {
    const message = `the file has ${bytes} bytes; at most ${LIMITS.deviceTypeBytesMax} are allowed`
    return { kind: 'refused', problems: [{ line: undefined, path: '', message }] }
  }
  const parsed = parse(text)
  if (parsed.kind === 'refused') return parsed
  const reader = new Reader(parsed)
  const types = readTypes(parsed.value, reader)
  const problems = reader.problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
  return problems.length > 0 ? { kind: 'refused', problems } : { kind: 'loaded', types }
}

/** Example: `line 12: device_types.greenhouse.icon: must be text, is 5` */
export function problemText({ line, path, message }: Problem): string {
  return [line === undefined ? [] : `line ${line}`, path === '' ? [] : path, message].flat().join(': ')
}

function readTypes(value: unknown, reader: Reader): DeviceTypes {
  const types = new Map<string, DeviceType>()
  const root = reader.fields(value, [], [ROOT])
  if (root === undefined) return types
  if (!root.has(ROOT)) reader.problem([], `${ROOT} is missing at the top`)
  const entries = reader.fields(root.get(ROOT) ?? {}, [ROOT]) ?? new Map<string, unknown>()
  if (entries.size > LIMITS.deviceTypesMax) {
    reader.problem([ROOT], `has ${entries.size} types; at most ${LIMITS.deviceTypesMax} are allowed`)
    return types
  }
  for (const [name, entry] of entries) {
    const type = readType(name, entry, reader)
    if (type !== undefined) types.set(name, type)
  }
  return types
}

const TYPE_KEYS = [
  'display_name',
  'description',
  'icon',
  'telemetry',
  'commands',
  'status_fields',
  'firmware_bytes_max',
  'heartbeat_timeout_sec',
]

function readType(name: string, value: unknown, reader: Reader): DeviceType | undefined {
  const path = [ROOT, name]
  const isBuiltIn = DEVICE_TYPES.some((known) => known === name)
  if (isBuiltIn) return reader.problem(path, 'is a built-in type')
  if (!TYPE_NAME.test(name))
    return reader.problem(path, 'must begin with a letter and have at most 64 letters, digits, _ and -')
  const fields = reader.fields(value, path, TYPE_KEYS)
  if (fields === undefined) return undefined
  const at = (key: string): Path => [...path, key]
  const telemetry = reader.list(fields.get('telemetry'), at('telemetry'), (item, where) =>
    readTelemetry(item, where, reader),
  )
  const commands = reader.list(fields.get('commands'), at('commands'), (item, where) =>
    readCommand(item, where, reader),
  )
  const statusFields = reader.list(fields.get('status_fields'), at('status_fields'), (item, where) =>
    readStatus(item, where, reader),
  )
  // The file alone keeps the descriptions of types and fields.
  reader.text(fields, 'description', path)
  reader.unique(telemetry, at('telemetry'), ({ field }) => field)
  reader.unique(commands, at('commands'), (command) => command.name)
  reader.unique(statusFields, at('status_fields'), ({ field }) => field)
  return {
    name,
    displayName: reader.text(fields, 'display_name', path) ?? name,
    icon: reader.text(fields, 'icon', path),
    telemetry: telemetry ?? [],
    commands,
    statusFields: statusFields ?? [],
    firmwareBytesMax: readBytes(fields, path, reader),
    heartbeatTimeoutSec: readTimeout(fields, path, reader),
  }
}

function readBytes(fields: Fields, path: Path, reader: Reader): number | undefined {
  const bytes = reader.number(fields, 'firmware_bytes_max', path)
  if (bytes === undefined || (Number.isSafeInteger(bytes) && bytes > 0)) return bytes
  return reader.problem([...path, 'firmware_bytes_max'], 'must be a whole number of bytes')
}

function readTimeout(fields: Fields, path: Path, reader: Reader): number | undefined {
  const seconds = reader.number(fields, 'heartbeat_timeout_sec', path)
  const { heartbeatTimeoutSecMin: min, heartbeatTimeoutSecMax: max } = BODY_LIMITS
  if (seconds === undefined || (Number.isSafeInteger(seconds) && seconds >= min && seconds <= max))
    return seconds
  return reader.problem(
    [...path, 'heartbeat_timeout_sec'],
    `must be a whole number of seconds from ${min} to ${max}`,
  )
}

const TELEMETRY_KEYS = ['field', 'description', 'unit', 'range', 'alert_above', 'alert_below']

function readTelemetry(value: unknown, path: Path, reader: Reader): TelemetryField | undefined {
  const fields = reader.fields(value, path, TELEMETRY_KEYS)
  const field = fields && reader.name(fields, 'field', path)
  if (fields === undefined || field === undefined) return undefined
  const alertAbove = reader.number(fields, 'alert_above', path)
  const alertBelow = reader.number(fields, 'alert_below', path)
  if (alertAbove !== undefined && alertBelow !== undefined && alertBelow > alertAbove)
    reader.problem(
      path,
      `alert_below ${alertBelow} is above alert_above ${alertAbove}, so every value would raise an alert`,
    )
  reader.text(fields, 'description', path)
  return {
    field,
    unit: reader.text(fields, 'unit', path),
    range: readRange(fields.get('range'), [...path, 'range'], reader),
    alertAbove,
    alertBelow,
  }
}

function readRange(value: unknown, path: Path, reader: Reader): TelemetryField['range'] {
  if (value === undefined || value === null) return undefined
  const [min, max, ...rest] = Array.isArray(value) ? value : []
  const isRange = isNumber(min) && isNumber(max) && rest.length === 0 && min < max
  return isRange ? [min, max] : reader.problem(path, 'must be [min, max], two numbers, the smaller first')
}

const COMMAND_KEYS = ['name', 'description', 'parameters']

function readCommand(value: unknown, path: Path, reader: Reader): CommandDefinition | undefined {
  const fields = reader.fields(value, path, COMMAND_KEYS)
  const name = fields && reader.name(fields, 'name', path)
  if (fields === undefined || name === undefined) return undefined
  if (name.startsWith('$'))
    return reader.problem([...path, 'name'], 'names that begin with $ are the service’s own')
  const where = [...path, 'parameters']
  const parameters = reader.list(fields.get('parameters'), where, (item, at) =>
    readParameter(item, at, reader),
  )
  reader.unique(parameters, where, (parameter) => parameter.name)
  return { name, description: reader.text(fields, 'description', path), parameters }
}

const PARAMETER_KEYS = ['name', 'type', 'description', 'required', 'min', 'max']

function readParameter(value: unknown, path: Path, reader: Reader): Parameter | undefined {
  const fields = reader.fields(value, path, PARAMETER_KEYS)
  const name = fields && reader.name(fields, 'name', path)
  if (fields === undefined || name === undefined) return undefined
  const type = readParameterType(fields.get('type'), path, reader)
  const min = reader.number(fields, 'min', path)
  const max = reader.number(fields, 'max', path)
  const isBounded = min !== undefined || max !== undefined
  if (isBounded && type !== undefined && type !== 'integer' && type !== 'number')
    reader.problem(path, `min and max are for numbers, ${name} is ${type}`)
  if (min !== undefined && max !== undefined && min > max)
    reader.problem(path, `min ${min} is above max ${max}`)
  const required = reader.flag(fields, 'required', path)
  const description = reader.text(fields, 'description', path)
  return type === undefined ? undefined : { name, type, required, description, min, max }
}

function readParameterType(value: unknown, path: Path, reader: Reader): ParameterType | undefined {
  const type = PARAMETER_TYPES.find((known) => known === value)
  if (type !== undefined) return type
  if (value === undefined || value === null) return reader.problem(path, 'type is missing')
  return reader.problem([...path, 'type'], `must be one of ${PARAMETER_TYPES.join(', ')}`)
}

const STATUS_KEYS = ['field', 'description', 'warn_below', 'critical_below']

function readStatus(value: unknown, path: Path, reader: Reader): StatusField | undefined {
  const fields = reader.fields(value, path, STATUS_KEYS)
  const field = fields && reader.name(fields, 'field', path)
  if (fields === undefined || field === undefined) return undefined
  const warnBelow = reader.number(fields, 'warn_below', path)
  const criticalBelow = reader.number(fields, 'critical_below', path)
  if (warnBelow !== undefined && criticalBelow !== undefined && criticalBelow > warnBelow)
    reader.problem(path, `critical_below ${criticalBelow} is above warn_below ${warnBelow}`)
  reader.text(fields, 'description', path)
  return { field, warnBelow, criticalBelow }
}
