// Builds an example of a schema from the examples of its fields.
import type { TSchema } from 'typebox'
import type { Json } from '../../schemas/json.ts'

interface SchemaFacts {
  readonly examples?: readonly Json[]
  readonly default?: Json
  readonly enum?: readonly Json[]
  readonly const?: Json
  readonly anyOf?: readonly SchemaFacts[]
  readonly type?: string
  readonly properties?: Readonly<Record<string, SchemaFacts>>
  readonly required?: readonly string[]
  readonly items?: SchemaFacts
  readonly minimum?: number
}

/** Returns the schema's example number `index`, or the first one. */
export function exampleOf(schema: TSchema, index = 0): Json {
  // All schemas are JSON schemas, and these keywords describe their values.
  const described = schema as SchemaFacts
  return described.examples?.[index] ?? built(described)
}

function built(schema: SchemaFacts): Json {
  const [example] = schema.examples ?? []
  if (example !== undefined) return example
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0] ?? null
  if (schema.anyOf !== undefined)
    return schema.anyOf.some(({ type }) => type === 'null') ? null : built(schema.anyOf[0] ?? {})
  switch (schema.type) {
    case 'object':
      return object(schema)
    case 'array':
      return schema.items === undefined ? [] : [built(schema.items)]
    case 'integer':
    case 'number':
      return schema.minimum ?? 0
    case 'boolean':
      return false
    case 'string':
      return 'text'
    default:
      return null
  }
}

/** Leaves out optional fields whose example is null. */
function object({ properties = {}, required = [] }: SchemaFacts): Json {
  const fields = Object.entries(properties).map(([name, field]) => [name, built(field)] as const)
  return Object.fromEntries(fields.filter(([name, value]) => required.includes(name) || value !== null))
}
