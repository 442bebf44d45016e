// JSON objects as data: only own keys count, and `__proto__` is a key like any other.
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'

export const EMPTY: JsonObject = Object.freeze({})

/** Reads own keys only; plain access would also find values of the prototype. */
export function own<T>(object: { readonly [key: string]: T }, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** Sets any key; plain assignment would make `__proto__` the prototype. */
export function put<T>(object: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })
  else object[key] = value
}

export function isEmpty(object: object): boolean {
  for (const _ in object) return false
  return true
}

/** Compares by value, whatever the order of keys. */
export function isEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((element, i) => isEqual(element, b[i]))
  }
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqual(own(a, key), own(b, key)))
  )
}
