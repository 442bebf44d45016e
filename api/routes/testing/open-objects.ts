// For tests: finds where a schema accepts fields that it does not name.

/** The paths of objects that have named properties and accept others, too. */
export function openObjects(schema: unknown, path = ''): readonly string[] {
  const {
    properties,
    additionalProperties,
    items,
    anyOf = [],
  } = Object(schema) as {
    readonly properties?: Readonly<Record<string, unknown>>
    readonly additionalProperties?: unknown
    readonly items?: unknown
    readonly anyOf?: readonly unknown[]
  }
  const inner = [
    ...Object.entries(properties ?? {}).flatMap(([name, value]) => openObjects(value, `${path}/${name}`)),
    ...(items === undefined ? [] : openObjects(items, `${path}/*`)),
    ...anyOf.flatMap((value) => openObjects(value, path)),
  ]
  return properties === undefined || additionalProperties === false ? inner : [path, ...inner]
}
