// Sends a message as its channel asks. Failures are reported by a code, because answers and errors may contain secrets.
import type { Millis } from '../../../schemas/ids.ts'
import type { Channel } from '../../domain/alert/channel.ts'
import { chatBody } from '../../domain/alert/chat/chat-format.ts'
import type { SendResult } from '../../domain/alert/delivery.ts'
import { emailBody } from '../../domain/alert/email-body.ts'
import { fillJsonTemplate, parseJsonTemplate } from '../../domain/alert/json-template.ts'
import { type AlertMessage, templateValuesOf } from '../../domain/alert/message.ts'
import { webhookBody } from '../../domain/alert/webhook-body.ts'
import { unreachable } from '../../domain/unreachable.ts'
import type { Outbound } from '../../ports/outbound.ts'
import { signatureHeaders } from './webhook-signature.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

export async function sendToChannel(
  { http, mail }: Pick<Outbound, 'http' | 'mail'>,
  { target }: Channel,
  {
    message,
    userAgent,
    now,
  }: { readonly message: AlertMessage; readonly userAgent: string; readonly now: Millis },
): Promise<SendResult> {
  const { notificationId: id } = message
  switch (target.kind) {
    case 'chat_webhook': {
      const { webhookUrl: url, format, channel } = target
      const body = JSON.stringify(chatBody(message, { format, channel, host: new URL(url).hostname }))
      return http.send({ url, method: 'POST', headers: { ...JSON_TYPE, 'user-agent': userAgent }, body })
    }
    case 'webhook': {
      const { url, method, headers, secret, former } = target
      const body = bodyOf(target.template, message)
      const secrets = former !== undefined && former.until > now ? [secret, former.secret] : [secret]
      const own = {
        ...JSON_TYPE,
        'user-agent': userAgent,
        ...signatureHeaders({ id, at: now, body }, secrets),
      }
      return http.send({ url, method, headers: { ...headers, ...own }, body })
    }
    case 'email': {
      if (mail === undefined) return { kind: 'failed', code: 'SMTP_NOT_CONFIGURED' }
      return mail.send({ messageId: id, to: target.to, ...emailBody(message, target.subject) })
    }
    default:
      return unreachable(target)
  }
}

function bodyOf(template: string | undefined, message: AlertMessage): string {
  const parsed = template === undefined ? undefined : parseJsonTemplate(template)
  // Templates were checked when they were saved. If this one cannot be parsed all the same, the usual body is sent.
  return parsed?.kind === 'parsed'
    ? fillJsonTemplate(parsed.tree, templateValuesOf(message))
    : JSON.stringify(webhookBody(message))
}
