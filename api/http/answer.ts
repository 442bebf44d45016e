// What a handler gives back if it does not refuse the request: JSON, or a file.
import type { Readable } from 'node:stream'
import type { UserId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { ImageAnswer } from './send-image.ts'

export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  /** Sent as JSON; a string and bytes are sent as they are. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The user that a public operation identified, such as the one who logged in. */
  readonly by?: UserId | undefined
  /** Goes into the audit entry beside the names of the fields. */
  readonly noted?: JsonObject | undefined
}

/** Bytes that are streamed. The stream ends with its reader or with the request. */
export interface FileAnswer {
  readonly kind: 'file'
  readonly type: string
  /** The name under which browsers save it, in plain letters. */
  readonly name: string
  readonly bytes: Readable
}

/** The image of a firmware, or the part of it that the request wants. */
export interface FirmwareFile {
  readonly kind: 'image'
  readonly image: ImageAnswer
}

export function answer(status: number, body: unknown, headers?: Answer['headers']): Answer {
  return { kind: 'answer', status, body, headers }
}

/** JSON that is written already. */
export function jsonAnswer(json: string | Uint8Array, headers?: Answer['headers']): Answer {
  return answer(200, json, { ...headers, 'content-type': 'application/json; charset=utf-8' })
}
