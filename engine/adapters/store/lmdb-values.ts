// Values of the store's tables, which only the store writes.
import { newPackr } from '../../domain/packing.ts'
import type { Change, Key } from '../lmdb/lmdb-env.ts'

// Plain maps: a record must be readable without separately stored structures.
const packr = newPackr()

export function put(table: string, key: Key, value: unknown): Change {
  return { table, key, value: packr.pack(value) }
}

/** Trusts the type, because only the store writes these values. */
export function unpack<T>(bytes: Uint8Array): T {
  return packr.unpack(bytes) as T
}
