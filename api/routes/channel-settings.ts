// Checks what a user wrote about a channel, and fills in the rest from the previous settings or the defaults.
import type { Channel, ChannelSettings, ChannelTarget } from '../../engine/domain/alert/channel.ts'
import { parseJsonTemplate } from '../../engine/domain/alert/json-template.ts'
import { unknownPlaceholders } from '../../engine/domain/alert/template.ts'
import { parseTarget } from '../../engine/domain/outbound/target.ts'
import type { EditChannelBody } from '../../schemas/alert-channel.ts'
import { ChannelId } from '../../schemas/ids.ts'
import { ALERT_SEVERITIES, type ChannelType } from '../../schemas/vocabulary.ts'
import { MASK, maskedUrl } from '../bodies/channel-body.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/
const HEADER_VALUE = /^[\t\x20-\x7E\x80-\xFF]*$/
/** Headers that the service sets itself, and hop-by-hop headers. */
const OWN_HEADERS =
  /^(content-.*|host|webhook-.*|user-agent|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect)$/i
const HEADER_BYTES_MAX = 1_024
const TEMPLATE_BYTES_MAX = 16_384

export type ReadChannel = { readonly kind: 'settings'; readonly settings: ChannelSettings } | Refusal

export function readChannel(
  type: ChannelType,
  body: EditChannelBody,
  before: Channel | undefined,
): ReadChannel {
  const target = readTarget(type, body, before?.target)
  if ('refusal' in target) return target.refusal
  return {
    kind: 'settings',
    settings: {
      name: body.name ?? before?.name ?? type,
      enabled: body.enabled ?? before?.enabled ?? true,
      severity: body.severity ?? before?.severity ?? ALERT_SEVERITIES,
      isDefault: body.default ?? before?.isDefault ?? false,
      group: given(body.group, before?.group),
      groupWaitSec: body.group_wait_sec ?? before?.groupWaitSec ?? 10,
      groupIntervalSec: body.group_interval_sec ?? before?.groupIntervalSec ?? 60,
      ratePerMinute: body.rate_per_minute ?? before?.ratePerMinute ?? 60,
      fallbackChannelId:
        typeof body.fallback_channel_id === 'string'
          ? ChannelId(body.fallback_channel_id)
          : given(body.fallback_channel_id, before?.fallbackChannelId),
      sendResolved: given(body.send_resolved, before?.sendResolved),
      target: target.target,
    },
  }
}

type ReadTarget = { readonly target: ChannelTarget } | { readonly refusal: Refusal }

function readTarget(type: ChannelType, body: EditChannelBody, before: ChannelTarget | undefined): ReadTarget {
  switch (type) {
    case 'chat_webhook':
      return readChat(body, before?.kind === 'chat_webhook' ? before : undefined)
    case 'webhook':
      return readWebhook(body, before?.kind === 'webhook' ? before : undefined)
    case 'email':
      return readEmail(body, before?.kind === 'email' ? before : undefined)
  }
}

type Of<Kind> = Extract<ChannelTarget, { readonly kind: Kind }> | undefined

function readChat(body: EditChannelBody, before: Of<'chat_webhook'>): ReadTarget {
  const isMask = before !== undefined && body.webhook_url === maskedUrl(before.webhookUrl)
  const webhookUrl = isMask ? before.webhookUrl : (body.webhook_url ?? before?.webhookUrl)
  if (webhookUrl === undefined) return missing('/webhook_url')
  const wrong = wrongUrl('/webhook_url', webhookUrl)
  if (wrong !== undefined) return { refusal: wrong }
  const format = body.format ?? before?.format ?? 'auto'
  return {
    target: { kind: 'chat_webhook', webhookUrl, channel: given(body.channel, before?.channel), format },
  }
}

function readWebhook(body: EditChannelBody, before: Of<'webhook'>): ReadTarget {
  const url = body.url ?? before?.url
  if (url === undefined) return missing('/url')
  const headers = readHeaders(body.headers, before?.headers)
  const template =
    body.template === null || body.template === undefined
      ? given(body.template, before?.template)
      : typeof body.template === 'string'
        ? body.template
        : JSON.stringify(body.template)
  const wrong = wrongUrl('/url', url) ?? wrongTemplate(template)
  if (wrong !== undefined) return { refusal: wrong }
  if ('refusal' in headers) return headers
  const method = body.method ?? before?.method ?? 'POST'
  const secrets = { secret: before?.secret ?? '', former: before?.former }
  return { target: { kind: 'webhook', url, method, headers: headers.headers, template, ...secrets } }
}

function readEmail(body: EditChannelBody, before: Of<'email'>): ReadTarget {
  const to = body.to ?? before?.to
  if (to === undefined) return missing('/to')
  const subject = given(body.subject, before?.subject)
  const unknown = subject === undefined ? undefined : unknownPlaceholders(subject)[0]
  if (unknown !== undefined) return { refusal: unknownPlaceholder('/subject', unknown) }
  return { target: { kind: 'email', to, subject } }
}

type ReadHeaders = { readonly headers: Readonly<Record<string, string>> } | { readonly refusal: Refusal }

function readHeaders(
  given: EditChannelBody['headers'],
  before: Readonly<Record<string, string>> = {},
): ReadHeaders {
  if (given === undefined) return { headers: before }
  const known = new Map(Object.entries(before).map(([name, value]) => [name.toLowerCase(), value]))
  const headers: [string, string][] = []
  for (const [name, sent] of Object.entries(given)) {
    const path = `/headers/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const value = sent === MASK ? known.get(name.toLowerCase()) : sent
    if (value === undefined)
      return { refusal: invalid(path, { code: 'REQUIRED', message: 'has no value yet' }) }
    if (!HEADER_NAME.test(name))
      return { refusal: invalid(path, { code: 'WRONG_FORMAT', message: 'is no name of a header' }) }
    if (OWN_HEADERS.test(name))
      return { refusal: invalid(path, { code: 'NOT_ALLOWED', message: 'is set by the service itself' }) }
    if (!HEADER_VALUE.test(value) || Buffer.byteLength(value) > HEADER_BYTES_MAX)
      return {
        refusal: invalid(path, { code: 'WRONG_FORMAT', message: 'has a value that no header can have' }),
      }
    headers.push([name, value])
  }
  return { headers: Object.fromEntries(headers) }
}

function wrongUrl(path: string, url: string): Refusal | undefined {
  const target = parseTarget(url)
  if (target.kind !== 'refused') return undefined
  const { isForbidden, detail } = target
  if (!isForbidden) return invalid(path, { code: 'WRONG_FORMAT', message: detail })
  return refused('WEBHOOK_TARGET_FORBIDDEN', {
    message: `${path}: ${detail}`,
    errors: [{ path, in: 'body', code: 'WRONG_FORMAT', message: detail }],
  })
}

function wrongTemplate(template: string | undefined): Refusal | undefined {
  if (template === undefined) return undefined
  if (Buffer.byteLength(template) > TEMPLATE_BYTES_MAX)
    return invalid('/template', {
      code: 'TOO_LONG',
      message: `must be at most ${TEMPLATE_BYTES_MAX} bytes as JSON`,
    })
  const parsed = parseJsonTemplate(template)
  switch (parsed.kind) {
    case 'parsed':
      return undefined
    case 'unknown':
      return unknownPlaceholder('/template', parsed.name)
    case 'in_key':
      return invalid('/template', {
        code: 'NOT_ALLOWED',
        message: `has a placeholder in the key ${JSON.stringify(parsed.key)}; only values may have some`,
      })
    case 'malformed': {
      const message = `is not JSON from position ${parsed.position} on`
      return refused('VALIDATION_FAILED', {
        message: `/template: ${message}`,
        position: parsed.position,
        errors: [{ path: '/template', in: 'body', code: 'WRONG_FORMAT', message }],
      })
    }
  }
}

function unknownPlaceholder(path: string, name: string): Refusal {
  const message = `there is no {{${name}}}`
  return refused('UNKNOWN_PLACEHOLDER', {
    message: `${path}: ${message}`,
    placeholder: name,
    errors: [{ path, in: 'body', code: 'UNKNOWN_PLACEHOLDER', message }],
  })
}

function missing(path: string): { readonly refusal: Refusal } {
  return { refusal: invalid(path, { code: 'REQUIRED', message: 'is needed for a channel of this type' }) }
}

/** Undefined keeps the previous value, null removes it. */
function given<T>(sent: T | null | undefined, before: T | undefined): T | undefined {
  return sent === null ? undefined : (sent ?? before)
}
