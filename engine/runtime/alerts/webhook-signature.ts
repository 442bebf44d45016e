// Signatures as specified by Standard Webhooks (https://www.standardwebhooks.com).
import { createHmac, randomBytes } from 'node:crypto'
import type { Millis } from '../../../schemas/ids.ts'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`
}

interface SignedMessage {
  readonly id: string
  readonly at: Millis
  readonly body: string
}

/** One signature per secret, so that a receiver needs to know only one of them. */
export function signatureHeaders(
  { id, at, body }: SignedMessage,
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(at / 1_000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
