// The settings for outgoing messages: which addresses webhooks may reach, and the mail server.
import { type AllowList, parseAllowList } from '../../../engine/domain/outbound/allow-list.ts'
import type { Reader } from './reader.ts'

export interface OutboundSettings {
  readonly allow: AllowList
  /** Undefined if there is no mail server. */
  readonly smtp: { readonly url: string; readonly from: string } | undefined
}

export function readOutbound(reader: Reader): OutboundSettings {
  const expected = 'hosts, addresses, networks in CIDR notation or host:port'
  const entries = reader.list('FLEET_WEBHOOK_ALLOW', (entry) => parseAllowList(entry) !== undefined, expected)
  return { allow: parseAllowList(entries.join(',')) ?? [], smtp: readSmtp(reader) }
}

function readSmtp(reader: Reader): OutboundSettings['smtp'] {
  const url = reader.url('FLEET_SMTP_URL', ['smtp', 'smtps'], 'smtps://user:password@mail.example.com:465')
  const from = reader.matching(
    'FLEET_SMTP_FROM',
    /^[^\r\n@]{1,200}@[^\s@<>]{1,200}>?$/,
    'a sender such as Fleet <fleet@example.com>',
  )
  if (url !== undefined && from !== undefined) return { url, from }
  if (url !== undefined) reader.refuse('FLEET_SMTP_FROM', 'is required with FLEET_SMTP_URL')
  if (from !== undefined) reader.refuse('FLEET_SMTP_URL', 'is required with FLEET_SMTP_FROM')
  return undefined
}
