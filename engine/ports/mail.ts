// Mail sent through a server that the operator configured.
import type { SendResult } from '../domain/alert/delivery.ts'

export interface OutgoingMail {
  readonly messageId: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  readonly html: string
}

export interface Mail {
  /** Never rejects. */
  send(mail: OutgoingMail): Promise<SendResult>
  close(): void
}
