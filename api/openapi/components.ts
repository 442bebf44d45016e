// The schemas of the document: each schema with a title is written once and referenced.
import type { TSchema } from 'typebox'

export type JsonSchema = Readonly<Record<string, unknown>>

export class Components {
  readonly #schemas = new Map<string, JsonSchema>()
  /** The source of each component, to detect two different schemas with the same title. */
  readonly #sources = new Map<string, string>()

  /** Returns the schema for the document. */
  reference(schema: TSchema | JsonSchema): JsonSchema {
    const { title } = schema as { title?: unknown }
    if (typeof title !== 'string') return this.inlined(schema)
    const source = JSON.stringify(schema)
    const known = this.#sources.get(title)
    if (known === undefined) {
      // Set before it is filled in, because a component may refer to itself.
      this.#sources.set(title, source)
      this.#schemas.set(title, this.inlined(schema))
    } else if (known !== source) throw new Error(`two schemas have the title ${title}`)
    return { $ref: `#/components/schemas/${title}` }
  }

  /** Returns the full schema, even if it has a title. */
  inlined(schema: TSchema | JsonSchema): JsonSchema {
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.#walked(key, value)]))
  }

  sorted(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** Only these keywords contain schemas. All others are copied. */
  #walked(key: string, value: unknown): unknown {
    // Depending on the keyword, the value is a schema, a list of schemas or a table of schemas.
    if (key === 'items' || key === 'additionalProperties')
      return typeof value === 'object' ? this.reference(value as JsonSchema) : value
    if (key === 'anyOf' || key === 'allOf' || key === 'oneOf')
      return (value as readonly JsonSchema[]).map((schema) => this.reference(schema))
    if (key === 'properties')
      return Object.fromEntries(
        Object.entries(value as Record<string, JsonSchema>).map(([name, schema]) => [
          name,
          this.reference(schema),
        ]),
      )
    return value
  }
}
