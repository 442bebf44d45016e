// Mail sent through a server that the operator configured.
import type { SendResult } from '../domain/alert/delivery.ts'
import type { Email } from '../domain/alert/email-body.ts'

export interface OutgoingMail extends Email {
  readonly messageId: string
  readonly to: readonly string[]
}

export interface Mail {
  /** Never rejects. */
  send(mail: OutgoingMail): Promise<SendResult>
  close(): void
}
