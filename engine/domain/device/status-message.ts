// Messages on the `status` topic: a device's birth, farewell and last will, as an object or as a single word.

import { Buffer } from 'node:buffer'
import { parseJson } from '../../../schemas/json.ts'

export type StatusMessage =
  | {
      readonly kind: 'said'
      readonly status: 'online' | 'offline'
      readonly sessionId: string | undefined
      readonly reason: string | undefined
      readonly firmwareVersion: string | undefined
      /** SHA-256 of the image that runs. */
      readonly firmwareSha256: string | undefined
      /** Differs after each restart of the device. */
      readonly bootId: string | undefined
    }
  /** An empty payload only clears the retained message. */
  | { readonly kind: 'cleared' }
  | { readonly kind: 'refused'; readonly detail: string }

const TEXT_MAX = 128

export function readStatus(payload: Uint8Array): StatusMessage {
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('utf8').trim()
  if (text === '') return { kind: 'cleared' }
  const value = text.startsWith('{') || text.startsWith('"') ? parseJson(text) : text
  if (value === undefined) return { kind: 'refused', detail: 'not JSON' }
  const fields: Readonly<Record<string, unknown>> =
    typeof value === 'object' && value !== null ? { ...value } : { status: value }
  const { status } = fields
  if (status !== 'online' && status !== 'offline')
    return { kind: 'refused', detail: "status must be 'online' or 'offline'" }
  return {
    kind: 'said',
    status,
    sessionId: shortText(fields['session_id']),
    reason: shortText(fields['reason']),
    firmwareVersion: shortText(fields['firmware_version']),
    firmwareSha256: shortText(fields['firmware_sha256']),
    bootId: shortText(fields['boot_id']),
  }
}

/** A device that reads its version from a file may include the line break, which is not part of the version. */
function shortText(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' ? undefined : text.slice(0, TEXT_MAX)
}
