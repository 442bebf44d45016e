import type { Json } from '../../schemas/json.ts'

/** Recurses no further than `levels`, however deep the value is. */
export function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((inner: Json) => isDeeper(inner, levels - 1))
}
