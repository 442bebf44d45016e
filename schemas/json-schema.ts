// Schemas that several bodies share. A schema with a `title` becomes a component of the OpenAPI document.
import { type TObject, type TProperties, type TSchemaOptions, Type } from 'typebox'
import { RELATIVE_PATTERN } from './instant-text.ts'
import type { JsonObject } from './json.ts'

/** The title of an object, perhaps its description, and its fields. */
type TitledFields<Fields> =
  | [title: string, fields: Fields]
  | [title: string, description: string, fields: Fields]

export function object<Fields extends TProperties>(
  ...[title, ...rest]: TitledFields<Fields>
): TObject<Fields> {
  return rest.length === 1
    ? Type.Object(rest[0], { title })
    : Type.Object(rest[1], { title, description: rest[0] })
}

/** An object in which no other fields are allowed, such as a body or a query. */
export function closed<Fields extends TProperties>(
  ...parts: [Fields] | TitledFields<Fields>
): TObject<Fields> {
  const only = { additionalProperties: false }
  if (parts.length === 1) return Type.Object(parts[0], only)
  if (parts.length === 2) return Type.Object(parts[1], { title: parts[0], ...only })
  return Type.Object(parts[2], { title: parts[0], ...only, description: parts[1] })
}

/** One of a fixed list of words. A union of literals would report one error per literal for a wrong word. */
export function choice<const Words extends readonly string[]>(words: Words, options: object = {}) {
  return Type.Unsafe<Words[number]>({ type: 'string', enum: [...words], ...options })
}

/** Annotation of a text: what a refusal says instead of showing the pattern. */
export const EXPECTED = 'x-expected'

/** One or more of the words, separated by commas. */
export function words(allowed: readonly string[], description: string) {
  const one = `(?:${allowed.join('|')})`
  return Type.Optional(
    Type.String({
      pattern: `^${one}(?:,${one})*$`,
      [EXPECTED]: `must be some of ${allowed.join(', ')}, with commas between them`,
      description,
      examples: [allowed.slice(0, 2).join(',')],
    }),
  )
}

/** The order of a list: a field, ascending unless `:DESC` follows. */
export function sortBy(fields: readonly string[], usual: string) {
  return Type.Optional(
    Type.String({
      pattern: `^(${fields.join('|')})(:(ASC|DESC|asc|desc))?$`,
      [EXPECTED]: `must be one of ${fields.join(', ')}; :ASC or :DESC may follow`,
      default: usual,
      examples: [`${fields[0]}:ASC`],
    }),
  )
}

/** Annotation of a closed object: fields that exist but cannot be set by this request. */
export const IMMUTABLE = 'x-immutable'

/** Fields of an answer that a request may contain only unchanged. */
export const AsRead = Type.Optional(
  Type.Unknown({ readOnly: true, description: 'As it was read: it cannot be changed.' }),
)
/** Fields of an answer that change by themselves. A request may contain them, but they have no effect. */
export const PassedOver = Type.Optional(
  Type.Unknown({ readOnly: true, description: 'Has no effect: what was read may be sent back with it.' }),
)

/** The fields of a merge patch, without their defaults, which would be filled in and change fields that were left out. */
export function withoutDefaults<Fields extends TProperties>(fields: Fields): Fields {
  const kept = Object.entries(fields).map(([name, schema]) => {
    const { default: _, ...own } = Object.getOwnPropertyDescriptors<object & { default?: unknown }>(schema)
    return [name, Object.defineProperties({}, own)]
  })
  // The same names, each with its type.
  return Object.fromEntries(kept) as Fields
}

/** A free-form object, stored unchanged. */
export const FreeObject = Type.Unsafe<JsonObject>({ type: 'object' })

/** ISO 8601 in UTC with milliseconds. */
export const Instant = Type.String({ format: 'date-time', examples: ['2026-03-01T08:30:00.000Z'] })

/** A time in a request, as parsed by `parseInstant`. */
export const instantText = (description: string, example = '2026-03-01T08:30:00Z') =>
  Type.Unsafe<string>({
    type: 'string',
    anyOf: [{ format: 'date-time' }, { format: 'date' }, { pattern: RELATIVE_PATTERN }],
    description: `ISO 8601, milliseconds since 1970, \`now\`, or an age such as \`-15m\` (units s, m, h, d, w); ${description}.`,
    examples: [example, '-15m'],
  })

export const whole = (minimum: number, maximum: number, more: object = {}) =>
  Type.Integer({ minimum, maximum, ...more })

/** The example is null unless the options contain one. */
export const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(
  schema: T,
  options: TSchemaOptions = {},
) => Type.Union([schema, Type.Null()], options)

export const optionalOrNull = <T extends Parameters<typeof orNull>[0]>(schema: T) =>
  Type.Optional(orNull(schema))
