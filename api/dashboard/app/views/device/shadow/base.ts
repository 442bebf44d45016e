import type { JsonObject } from '../../../../../../schemas/json.ts'

/** The document that edits were made on. */
export interface Base {
  readonly version: number
  readonly desired: JsonObject
}
