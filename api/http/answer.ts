// What a handler gives back if it does not refuse the request: JSON, or a file.
import type { Readable } from 'node:stream'
import type { UserId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { ImageAnswer } from './send-image.ts'

export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  /** Sent as JSON, except that strings and bytes are sent unchanged. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The user that a public operation identified, such as the one who logged in. */
  readonly userId?: UserId | undefined
  /** Added to the audit entry, next to the names of the fields. */
  readonly auditDetail?: JsonObject | undefined
}

/** A stream of bytes. It ends when its reader or the request ends. */
export interface FileAnswer {
  readonly kind: 'file'
  readonly type: string
  /** The name under which browsers save the file, in ASCII. */
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

/** An answer whose JSON is already serialised. */
export function jsonAnswer(json: string | Uint8Array, headers?: Answer['headers']): Answer {
  return answer(200, json, { ...headers, 'content-type': 'application/json; charset=utf-8' })
}
