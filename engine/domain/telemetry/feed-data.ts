// A report as `/ws` shows it: its fields as sent, without the timestamp. It is computed only for devices that somebody
// watches.
import { Buffer } from 'node:buffer'
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { isBatch } from './payload.ts'

/** Returns the fields of a payload that `report` has stored, or undefined if there is nothing to show. A batch is shown
 *  as one report, in which later elements win. */
export function toFeedData(payload: Uint8Array, name: string | undefined): JsonObject | undefined {
  const json: Json = JSON.parse(
    Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('utf8'),
  )
  const objects = isObject(json) ? [json] : Array.isArray(json) && isBatch(json, name) ? json : undefined
  if (objects === undefined) return name === undefined ? undefined : { [name]: json }
  // `fromEntries` keeps `__proto__` as an ordinary name.
  const data: JsonObject = Object.fromEntries(objects.flatMap((object) => Object.entries(fieldsOf(object))))
  if (Object.keys(data).length === 0) return undefined
  return name === undefined ? data : { [name]: data }
}

function fieldsOf({ timestamp, ...fields }: JsonObject): JsonObject {
  return fields
}
