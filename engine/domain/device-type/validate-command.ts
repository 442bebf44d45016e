// Checks whether devices of a type accept a command, and lists every wrong parameter.
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { FieldError } from '../../../schemas/problem.ts'
import { LIMITS } from '../../limits.ts'
import { own } from '../shadow/json-object.ts'
import type { DeviceType, Parameter, ParameterType } from './definition.ts'

/** Returns an empty list if the command may be sent. `UNKNOWN_COMMAND` is always the only error. */
export function validateCommand(
  { name: typeName, commands }: DeviceType,
  command: string,
  data: JsonObject,
): readonly FieldError[] {
  if (commands === undefined) return []
  const definition = commands.find(({ name }) => name === command)
  if (definition === undefined) {
    const known = commands.map(({ name }) => name).join(', ')
    return [
      { path: '/command', code: 'UNKNOWN_COMMAND', message: `${typeName} takes ${known || 'no commands'}` },
    ]
  }
  const { parameters } = definition
  if (parameters === undefined) return []
  const errors = [
    ...parameters.flatMap((parameter) => check(parameter, own(data, parameter.name)) ?? []),
    ...Object.keys(data)
      .filter((key) => !parameters.some(({ name }) => name === key))
      .map((key) => error(key, 'UNKNOWN_PARAMETER', `${command} has no such parameter`)),
  ]
  return errors.slice(0, LIMITS.validationErrorsMax)
}

const IS_TYPE: Readonly<Record<ParameterType, (value: Json) => boolean>> = {
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => Number.isFinite(value),
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  array: (value) => Array.isArray(value),
  object: isObject,
}

function check(
  { name, type, required, min, max }: Parameter,
  value: Json | undefined,
): FieldError | undefined {
  // An optional parameter may also be null.
  if (value === undefined || value === null)
    return required ? error(name, 'REQUIRED', 'is required') : undefined
  if (!IS_TYPE[type](value)) return error(name, 'WRONG_TYPE', `must be ${ARTICLES[type]} ${type}`)
  if (typeof value !== 'number') return undefined
  if (min !== undefined && value < min) return error(name, 'OUT_OF_RANGE', `must be >= ${min}`)
  if (max !== undefined && value > max) return error(name, 'OUT_OF_RANGE', `must be <= ${max}`)
  return undefined
}

const ARTICLES: Readonly<Record<ParameterType, string>> = {
  integer: 'an',
  number: 'a',
  boolean: 'a',
  string: 'a',
  array: 'an',
  object: 'an',
}

function error(name: string, code: string, message: string): FieldError {
  const shown = name.slice(0, LIMITS.commandNameCharsMax)
  return { path: `/data/${shown.replace(/~/g, '~0').replace(/\//g, '~1')}`, code, message }
}
