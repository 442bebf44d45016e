// Mail over SMTP.
import { createTransport, type Transporter } from 'nodemailer'
import type { SendResult } from '../../domain/alert/delivery.ts'
import type { Mail, OutgoingMail } from '../../ports/mail.ts'

export interface SmtpSettings {
  /** `smtp(s)://user:password@host:port` */
  readonly url: string
  readonly from: string
  /** How long the server may be silent. */
  readonly timeoutMs?: number
  /** How long the whole exchange may take. */
  readonly sendMs?: number
}

const TIMEOUT_MS_DEFAULT = 10_000
/** Servers that slow down unknown senders take some seconds for each step. */
const SEND_MS_DEFAULT = 30_000

export class SmtpMail implements Mail {
  readonly #transport: Transporter
  readonly #from: string
  readonly #host: string
  readonly #sendMs: number

  constructor({ url, from, timeoutMs = TIMEOUT_MS_DEFAULT, sendMs = SEND_MS_DEFAULT }: SmtpSettings) {
    const timeouts = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs }
    this.#transport = createTransport({ url, ...timeouts, disableFileAccess: true, disableUrlAccess: true })
    this.#from = from
    this.#sendMs = sendMs
    this.#host = /@([A-Za-z0-9.-]+)>?\s*$/.exec(from)?.[1] ?? 'fleet'
  }

  async send({ messageId, to, subject, text, html }: OutgoingMail): Promise<SendResult> {
    try {
      const { rejectedErrors = [] } = await this.#transport.sendMail({
        messageId: `<${messageId}@${this.#host}>`,
        ...{ from: this.#from, to: [...to], subject, text, html },
        // A server that says a little now and then is never silent, and would hold the message for ever.
        signal: AbortSignal.timeout(this.#sendMs),
      })
      return rejectedErrors.length === 0
        ? { kind: 'answered', status: 200, retryAfterSec: undefined }
        : resultOf(worthRetrying(rejectedErrors))
    } catch (error) {
      return resultOf(error)
    }
  }

  close(): void {
    this.#transport.close()
  }
}

/** The server took the mail for some recipients and refused these. If a refusal may pass, all get the mail once more, under
 *  the same id: twice is better than never. */
function worthRetrying(refusals: readonly { readonly responseCode?: number }[]): unknown {
  return refusals.find(({ responseCode = 0 }) => responseCode < 500) ?? refusals[0]
}

/** A permanent refusal (5xx) would be repeated. Anything else may pass, even a wrong password, which can be corrected. */
function resultOf(error: unknown): SendResult {
  // Errors of nodemailer have these fields.
  const { code = 'NETWORK', responseCode } = error as {
    readonly code?: string
    readonly responseCode?: number
  }
  if (code === 'EAUTH') return { kind: 'failed', code: 'SMTP_AUTH' }
  if (responseCode !== undefined && responseCode >= 500)
    return { kind: 'answered', status: 400, retryAfterSec: undefined }
  return { kind: 'failed', code: code === 'ETIMEDOUT' || code === 'EABORT' ? 'TIMEOUT' : 'SMTP' }
}
