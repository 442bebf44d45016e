// What a handler gives back if it does not refuse the request: JSON, or a file.
import type { Readable } from 'node:stream'
import type { UserId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'

export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  /** Sent as JSON; a string is sent as it is. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Who the caller of a public operation turned out to be. */
  readonly by?: UserId | undefined
  /** What the audit tells of it beside the names of the fields. */
  readonly noted?: JsonObject | undefined
}

/** Bytes as they come; they are ended with their reader, or with the request. */
export interface FileAnswer {
  readonly kind: 'file'
  readonly type: string
  /** What it is saved as; plain letters. */
  readonly name: string
  readonly bytes: Readable
}

export function answer(status: number, body: unknown, headers?: Answer['headers']): Answer {
  return { kind: 'answer', status, body, headers }
}
