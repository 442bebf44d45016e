// Generates values that a JSON schema allows, most of them odd, as fast-check arbitraries.
import fc, { type Arbitrary } from 'fast-check'

export interface JsonSchema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema
  readonly uniqueItems?: boolean
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly format?: string
  readonly examples?: readonly unknown[]
  readonly readOnly?: boolean
}

/** Values that exist in the world under test, by the name of a field. */
export type KnownValues = Readonly<Record<string, readonly unknown[]>>

/** A lookahead, whose groups contain no groups. */
const LOOKAHEAD = /\(\?!(?:[^()]|\([^()]*\))*\)/g
const CHARS_MAX = 40
const ITEMS_MAX = 4
/** Texts that have caused bugs elsewhere. */
export const ODD = [
  "' OR 1=1 --",
  '<script>',
  '../../etc/passwd',
  '{{7*7}}',
  '%s%n',
  '\u0000',
  '\r\nSet-Cookie: a=b',
  '\u202egnp.exe',
  '𝕱leet 🤖',
  'null',
  '-1',
  '1e999',
  'constructor',
  'toString',
  ' ',
]

const OTHERS = ['id', 'device_id', 'type', 'role', 'created_at', 'access_token', 'password_hash', 'disabled']

export function valuesOf(schema: JsonSchema, known: KnownValues = {}): Arbitrary<unknown> {
  const own = ownValues(schema, known)
  const { examples = [] } = schema
  return examples.length === 0
    ? own
    : fc.oneof({ weight: 4, arbitrary: own }, { weight: 1, arbitrary: fc.constantFrom(...examples) })
}

function ownValues(schema: JsonSchema, known: KnownValues): Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const { anyOf, ...rest } = schema
  if (anyOf !== undefined) return fc.oneof(...anyOf.map((kind) => valuesOf({ ...rest, ...kind }, known)))
  switch (schema.type) {
    case 'object':
      return schema.properties === undefined ? freeObjects() : objectsOf(schema, known)
    case 'array':
      return listsOf(schema, known)
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1_000, max: schema.maximum ?? 1_000 })
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e9, max: schema.maximum ?? 1e9, noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'string':
      return textsOf(schema)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

function textsOf({ pattern, format, minLength = 0, maxLength = CHARS_MAX }: JsonSchema): Arbitrary<string> {
  if (format === 'date-time' || format === 'date')
    return fc
      .date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString().slice(0, format === 'date' ? 10 : undefined))
  const max = Math.min(maxLength, Math.max(minLength, CHARS_MAX))
  const any = fc.oneof(
    { weight: 3, arbitrary: fc.string({ minLength, maxLength: max, unit: 'grapheme' }) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD) },
  )
  if (pattern === undefined) return any.filter((text) => isWithin(text, minLength, maxLength))
  // The generator does not support lookahead, so values that a lookahead would exclude are filtered out.
  const like = fc.stringMatching(new RegExp(pattern.replaceAll(LOOKAHEAD, '')), { size: 'small' })
  const wanted = new RegExp(pattern, 'u')
  return fc
    .oneof({ weight: 4, arbitrary: like }, { weight: 1, arbitrary: any })
    .filter((text) => wanted.test(text) && isWithin(text, minLength, maxLength))
}

/** Counts code points, as ajv does. */
function isWithin(text: string, min: number, max: number): boolean {
  const { length } = [...text]
  return length >= min && length <= max
}

function listsOf(schema: JsonSchema, known: KnownValues): Arbitrary<unknown[]> {
  const { items = {}, minItems = 0, maxItems = ITEMS_MAX } = schema
  const bounds = { minLength: minItems, maxLength: Math.min(maxItems, minItems + ITEMS_MAX) }
  const item = valuesOf(items, known)
  return schema.uniqueItems === true ? fc.uniqueArray(item, bounds) : fc.array(item, bounds)
}

function objectsOf(schema: JsonSchema, known: KnownValues): Arbitrary<Record<string, unknown>> {
  const { properties = {}, required = [], additionalProperties } = schema
  // A read-only field may only be sent as it was read.
  const writable = Object.entries(properties).filter(([, { readOnly }]) => readOnly !== true)
  const fields = writable.map(([name, field]) => {
    const words = Object.hasOwn(known, name) ? known[name] : undefined
    const values = valuesOf(field, known)
    return [name, words === undefined ? values : mostly(words, values)] as const
  })
  const all = Object.fromEntries(fields)
  const some = (names: readonly string[]) =>
    fc.record(Object.fromEntries(fields.filter(([name]) => names.includes(name))))
  // Some fields exclude each other, so some objects have at most one optional field.
  const few = fc.constantFrom(...Object.keys(all), '').chain((name) => some([...required, name]))
  const named = fc.oneof(fc.record(all, { requiredKeys: [...required] }), few)
  if (additionalProperties === false) return named
  // Unknown fields are ignored whatever their value, even fields that nobody may set.
  const name = fc
    .oneof(fc.stringMatching(/^x_[a-z]{1,5}$/), fc.constantFrom(...OTHERS))
    .filter((text) => !Object.hasOwn(properties, text))
  const unknown = fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 })
  return fc.tuple(named, fc.option(unknown, { nil: {} })).map(([one, more]) => ({ ...more, ...one }))
}

const mostly = (words: readonly unknown[], values: Arbitrary<unknown>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...words) }, { weight: 1, arbitrary: values })

/** Objects without the keys that are refused everywhere. */
function freeObjects(): Arbitrary<Record<string, unknown>> {
  const key = fc.oneof(fc.string({ maxLength: 10 }), fc.constantFrom('a', 'b.c', 'prototype', 'constructor'))
  return fc
    .dictionary(key, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
    .filter((value) => !/__proto__|"constructor":\{[^}]*"prototype"/.test(JSON.stringify(value)))
}
