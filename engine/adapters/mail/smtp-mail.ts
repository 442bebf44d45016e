// Mail over SMTP.
import { domainToASCII } from 'node:url'
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
const MESSAGES_REMEMBERED_MAX = 1_000
const SENT: SendResult = { kind: 'answered', status: 200, retryAfterSec: undefined }

interface Refusal {
  readonly responseCode?: number
}

export class SmtpMail implements Mail {
  readonly #transport: Transporter
  readonly #from: string
  readonly #host: string
  readonly #sendMs: number
  /** The receivers that got a message while others did not. They do not get it again, except after a restart. */
  readonly #taken = new Map<string, readonly string[]>()

  constructor({ url, from, timeoutMs = TIMEOUT_MS_DEFAULT, sendMs = SEND_MS_DEFAULT }: SmtpSettings) {
    const timeouts = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs }
    this.#transport = createTransport({ url, ...timeouts, disableFileAccess: true, disableUrlAccess: true })
    this.#from = from
    this.#sendMs = sendMs
    this.#host = /@([A-Za-z0-9.-]+)>?\s*$/.exec(from)?.[1] ?? 'fleet'
  }

  async send({ messageId, to, subject, text, html }: OutgoingMail): Promise<SendResult> {
    const taken = this.#taken.get(messageId) ?? []
    const left = to.filter((address) => !taken.includes(asSent(address)))
    if (left.length === 0) return SENT
    try {
      const { accepted = [], rejectedErrors = [] } = await this.#transport.sendMail({
        messageId: `<${messageId}@${this.#host}>`,
        ...{ from: this.#from, to: [...to], subject, text, html },
        envelope: { from: this.#from, to: left },
        // A server that says a little now and then is never silent, and would hold the message for ever.
        signal: AbortSignal.timeout(this.#sendMs),
      })
      this.#taken.delete(messageId)
      if (rejectedErrors.length === 0) return SENT
      this.#noteTaken(messageId, [...taken, ...accepted])
      return partial(rejectedErrors)
    } catch (error) {
      // Errors of nodemailer have this field if the server refused every receiver.
      const { rejectedErrors } = error as { readonly rejectedErrors?: readonly Refusal[] }
      return taken.length > 0 && rejectedErrors !== undefined ? partial(rejectedErrors) : resultOf(error)
    }
  }

  #noteTaken(messageId: string, addresses: readonly string[]): void {
    this.#taken.set(messageId, addresses)
    const [oldest = messageId] = this.#taken.size > MESSAGES_REMEMBERED_MAX ? this.#taken.keys() : []
    if (oldest !== messageId) this.#taken.delete(oldest)
  }

  close(): void {
    this.#transport.close()
  }
}

/** The address as nodemailer reports it. */
function asSent(address: string): string {
  const at = address.lastIndexOf('@') + 1
  return address.slice(0, at) + domainToASCII(address.slice(at))
}

/** The server took the mail for some receivers, but not for these. */
function partial(refusals: readonly Refusal[]): SendResult {
  return { kind: 'partial', mayPass: refusals.some(({ responseCode = 0 }) => responseCode < 500) }
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
    return { kind: 'failed', code: 'SMTP_REFUSED', isFinal: true }
  return { kind: 'failed', code: code === 'ETIMEDOUT' || code === 'EABORT' ? 'TIMEOUT' : 'SMTP' }
}
