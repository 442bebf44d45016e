// What a handler hands back: an answer, or a refusal that becomes a problem.
import type { Readable } from 'node:stream'
import type { UserId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { RefusalCode } from '../../schemas/refusals.ts'

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

export interface Refusal {
  readonly kind: 'refused'
  readonly code: RefusalCode
  readonly detail: Readonly<Record<string, unknown>>
}

export function answer(status: number, body: unknown, headers?: Answer['headers']): Answer {
  return { kind: 'answer', status, body, headers }
}

export function refused(code: RefusalCode, detail: Refusal['detail'] = {}): Refusal {
  return { kind: 'refused', code, detail }
}

/** A wrong field: 422 with its path. */
export function invalid(
  path: string,
  error: { readonly code: string; readonly message: string; readonly in?: 'body' | 'query' },
): Refusal {
  return refused('VALIDATION_FAILED', {
    message: `${path}: ${error.message}`,
    errors: [{ path, in: error.in ?? 'body', code: error.code, message: error.message }],
  })
}
