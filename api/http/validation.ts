// Checks what comes in against its schema, and says what is wrong field by field.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import { LIMITS } from '../../engine/limits.ts'
import type { FieldError } from '../../schemas/problem.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'

export type Source = 'body' | 'query' | 'path'

/** Undefined if the value is as the schema wants it. Query values are turned into its types, in place. */
export type Check = (value: unknown, bytes: number) => Refusal | undefined

export interface Validation {
  check(schema: TSchema, source: Source): Check
}

export function createValidation(): Validation {
  // Unknown fields are kept and ignored, never stripped in silence; a body's types are what they are.
  const shared = {
    removeAdditional: false,
    useDefaults: true,
    strict: false,
    validateFormats: false,
  } as const
  const text = { ...shared, coerceTypes: 'array' } as const
  const compilers = {
    body: { first: new Ajv(shared), all: new Ajv({ ...shared, allErrors: true }) },
    query: { first: new Ajv(text), all: new Ajv({ ...text, allErrors: true }) },
    path: { first: new Ajv(text), all: undefined },
  }
  return {
    check(schema, source) {
      const { first, all } = compilers[source]
      // Compiled when first used: a start has better things to do.
      let validate: ValidateFunction | undefined
      const known = source === 'query' ? knownNames(schema) : ''
      const toRefusal = (errors: ValidateFunction['errors']) => refusalOf(errors, { source, known })
      let explain: ValidateFunction | undefined
      return (value, bytes) => {
        validate ??= first.compile(schema)
        if (validate(value)) return undefined
        // All mistakes of a large body could be a million: it is told the first. What is too long is not looked into.
        const isTooLong = validate.errors?.some(({ keyword }) => TOO_LONG.has(keyword)) ?? false
        if (all === undefined || isTooLong || bytes > API_LIMITS.explainBytesMax)
          return toRefusal(validate.errors)
        explain ??= all.compile(schema)
        explain(value)
        return toRefusal(explain.errors ?? validate.errors)
      }
    },
  }
}

const TOO_LONG = new Set(['maxLength', 'maxItems', 'maxProperties'])

interface About {
  readonly source: Source
  /** Said of a name that is not known. */
  readonly known: string
}

function knownNames(schema: TSchema): string {
  // Parameters are always given as one object schema.
  const { properties = {} } = schema as { properties?: object }
  return `; known are ${Object.keys(properties).join(', ') || 'none'}`
}

function refusalOf(found: ValidateFunction['errors'], about: About): Refusal {
  const errors = (found ?? [])
    // Of a field that may be null, only what its other shape wants is worth telling.
    .filter((error, _, { length }) => length === 1 || !isNoise(error))
    .slice(0, LIMITS.validationErrorsMax)
    .map((error) => toFieldError(error, about))
  const first = errors[0]
  const message = first === undefined ? 'the value is not valid' : `${first.path || '/'}: ${first.message}`
  return refused('VALIDATION_FAILED', { message, errors })
}

function isNoise({ keyword, params: { type } }: ErrorObject): boolean {
  return keyword === 'anyOf' || (keyword === 'type' && type === 'null')
}

const CODES: Readonly<Record<string, string>> = {
  required: 'REQUIRED',
  type: 'WRONG_TYPE',
  enum: 'NOT_ALLOWED',
  const: 'NOT_ALLOWED',
  minimum: 'OUT_OF_RANGE',
  maximum: 'OUT_OF_RANGE',
  minLength: 'TOO_SHORT',
  maxLength: 'TOO_LONG',
  pattern: 'WRONG_FORMAT',
  format: 'WRONG_FORMAT',
  minItems: 'TOO_FEW',
  maxItems: 'TOO_MANY',
  uniqueItems: 'DUPLICATE',
  additionalProperties: 'UNKNOWN_PARAMETER',
}

function toFieldError(
  { keyword, instancePath, params, message }: ErrorObject,
  { source, known }: About,
): FieldError {
  const { missingProperty, additionalProperty, allowedValues } = params
  const name = missingProperty ?? additionalProperty
  const path = typeof name === 'string' ? `${instancePath}/${escaped(name)}` : instancePath
  const allowed = Array.isArray(allowedValues) ? `: ${allowedValues.join(', ')}` : ''
  return {
    path,
    in: source,
    code: CODES[keyword] ?? 'NOT_VALID',
    message: `${typeof name === 'string' ? nameMessage(keyword, known) : (message ?? 'is not valid')}${allowed}`,
  }
}

const nameMessage = (keyword: string, known: string) =>
  keyword === 'required' ? 'is required' : `is not known${known}`

/** [RFC 6901] */
const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')
