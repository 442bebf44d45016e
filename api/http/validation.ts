// Validates input against its schema, and describes what is wrong field by field.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import { LIMITS } from '../../engine/limits.ts'
import { fieldErrorCode } from '../../schemas/field-error-code.ts'
import { IMMUTABLE } from '../../schemas/json-schema.ts'
import { unknownName } from '../../schemas/nearest-name.ts'
import type { FieldError } from '../../schemas/problem.ts'
import type { RefusalCode } from '../../schemas/refusals.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { describePattern, type PatternSchema } from './pattern-description.ts'

export type Source = 'body' | 'query' | 'path'

/** Undefined if the value matches the schema. Query values are converted to the schema's types, in place. */
export type Check = (value: unknown, bytes: number) => Refusal | undefined

/** Unknown fields are refused where the schema says so, never silently removed. Types in a body are not converted. */
const BODY = {
  removeAdditional: false,
  useDefaults: true,
  strict: false,
  validateFormats: false,
  // Errors then contain the object's schema, which has the known names.
  verbose: true,
} as const
const TEXT = { ...BODY, coerceTypes: 'array' } as const

/** Each schema is compiled once. `all` reports every error instead of the first. */
const COMPILERS = {
  body: { first: new Ajv(BODY), all: new Ajv({ ...BODY, allErrors: true }) },
  query: { first: new Ajv(TEXT), all: new Ajv({ ...TEXT, allErrors: true }) },
  path: { first: new Ajv(TEXT), all: undefined },
} as const

export function checkOf(schema: TSchema, source: Source): Check {
  const { first, all } = COMPILERS[source]
  // Compiled on first use, to keep the start fast.
  let validate: ValidateFunction | undefined
  let explain: ValidateFunction | undefined
  const toRefusal = (errors: ValidateFunction['errors']) => refusalOf(errors, source)
  return (value, bytes) => {
    validate ??= first.compile(schema)
    if (validate(value)) return undefined
    // A large body could have a million errors, so only the first is reported. Texts that are too long get no other check.
    const isTooLong = validate.errors?.some(({ keyword }) => TOO_LONG.has(keyword)) ?? false
    if (all === undefined || isTooLong || bytes > API_LIMITS.explainBytesMax)
      return toRefusal(validate.errors)
    explain ??= all.compile(schema)
    explain(value)
    return toRefusal(explain.errors ?? validate.errors)
  }
}

const TOO_LONG = new Set(['maxLength', 'maxItems', 'maxProperties'])

function refusalOf(found: ValidateFunction['errors'], source: Source): Refusal {
  const errors = (found ?? [])
    // For a field that may be null, only the errors of its other type are worth reporting.
    .filter((error, _, { length }) => length === 1 || !isNoise(error))
    .slice(0, LIMITS.validationErrorsMax)
    .map((error) => toFieldError(error, source))
  // A caller who sends a field that has no effect should learn of that first.
  const code = OF_FIELDS.find((word) => errors.some((error) => error.code === word))
  const first = code === undefined ? errors[0] : errors.find((error) => error.code === code)
  const message = first === undefined ? 'the value is not valid' : `${first.path || '/'}: ${first.message}`
  return refused(code ?? 'VALIDATION_FAILED', { message, errors })
}

const OF_FIELDS = ['IMMUTABLE_FIELD', 'UNKNOWN_FIELD'] as const satisfies readonly RefusalCode[]

function isNoise({ keyword, params: { type } }: ErrorObject): boolean {
  return keyword === 'anyOf' || (keyword === 'type' && type === 'null')
}

function toFieldError(error: ErrorObject, source: Source): FieldError {
  const { keyword, instancePath, params, message, parentSchema } = error
  const { missingProperty, additionalProperty, allowedValues } = params
  if (typeof additionalProperty === 'string') return unknownField(error, additionalProperty, source)
  const isMissing = typeof missingProperty === 'string'
  const wanted = keyword === 'pattern' ? describePattern(Object(parentSchema) as PatternSchema) : message
  const path = isMissing ? `${instancePath}/${escaped(missingProperty)}` : instancePath
  const allowed = Array.isArray(allowedValues) ? `: ${allowedValues.join(', ')}` : ''
  return {
    path,
    in: source,
    code: fieldErrorCode(keyword),
    message: `${isMissing ? 'is required' : (wanted ?? 'is not valid')}${allowed}`,
  }
}

function unknownField({ instancePath, parentSchema }: ErrorObject, name: string, source: Source): FieldError {
  const path = `${instancePath}/${escaped(name)}`
  const { properties = {}, [IMMUTABLE]: immutable = [] } = Object(parentSchema) as ClosedSchema
  if (immutable.includes(name))
    return { path, in: source, code: 'IMMUTABLE_FIELD', message: 'cannot be changed' }
  const code = source === 'body' ? 'UNKNOWN_FIELD' : 'UNKNOWN_PARAMETER'
  return { path, in: source, code, message: unknownName(name, Object.keys(properties)) }
}

interface ClosedSchema {
  readonly properties?: object
  readonly [IMMUTABLE]?: readonly string[]
}

/** [RFC 6901] */
const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')
