// The plain way to flatten a report, for floors and peers; the engine's own is bounded and faster to refuse.

export function flatten(value: unknown, path: string, put: (name: string, value: number) => void): void {
  if (typeof value === 'number') put(path, value)
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) flatten(inner, path === '' ? key : `${path}.${key}`, put)
}
