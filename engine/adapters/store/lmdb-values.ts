// Values of the store's tables, which only the store writes.
import { newPackr } from '../../domain/packing.ts'
import type { Change, Key } from '../lmdb/lmdb-env.ts'

// Plain maps: a record must be readable without anything written beside it.
const packr = newPackr()

export function put(table: string, key: Key, value: unknown): Change {
  return { table, key, value: packr.pack(value) }
}

/** The store wrote the value, with this type. */
export function unpack<T>(bytes: Uint8Array): T {
  return packr.unpack(bytes) as T
}
