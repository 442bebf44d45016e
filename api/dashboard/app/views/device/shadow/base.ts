import type { JsonObject } from '../../../shadow-merge/leaves.ts'

/** The document that edits were made on. */
export interface Base {
  readonly version: number
  readonly desired: JsonObject
}
