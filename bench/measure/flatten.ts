// Flattens a report in the simplest way, for comparison. Unlike the engine's own code, it has no limits.

export function flatten(value: unknown, path: string, put: (name: string, value: number) => void): void {
  if (typeof value === 'number') put(path, value)
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value))
    flatten(Reflect.get(value, key), path === '' ? key : `${path}.${key}`, put)
}
