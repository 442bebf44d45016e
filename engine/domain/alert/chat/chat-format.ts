// The body of a chat's webhook, in the form that the chat takes and cut to its bounds.
import type { JsonObject } from '../../../../schemas/json.ts'
import type { AlertSeverity, ChatFormat } from '../../../../schemas/vocabulary.ts'
import { unreachable } from '../../unreachable.ts'
import { cut, oneLine } from '../cut.ts'
import { type AlertMessage, bodyLines, factsOf, headline, linkOf } from '../message.ts'
import { escapeGoogleChat, escapeMarkdown, escapeSlack } from './escape.ts'

export interface ChatChannel {
  readonly format: ChatFormat
  readonly host: string
  /** The chat's own channel, such as `#ops`, where the chat lets a webhook choose. */
  readonly channel: string | undefined
}

type ChatKind = Exclude<ChatFormat, 'auto'>

const HOSTS: readonly (readonly [RegExp, ChatKind])[] = [
  [/(^|\.)slack\.com$/, 'slack'],
  [/(^|\.)discord(app)?\.com$/, 'discord'],
  [/(^|\.)(webhook\.office\.com|office\.com|logic\.azure\.com|powerplatform\.com)$/, 'teams'],
  [/^chat\.googleapis\.com$/, 'google_chat'],
  [/(^|[.-])mattermost([.-]|$)/, 'mattermost'],
  [/(^|[.-])rocket-?chat([.-]|$)|(^|\.)rocket\.chat$/, 'rocketchat'],
]

/** Bounds of each chat, in characters, with room for what surrounds a text. */
const SLACK = { text: 3_000, title: 250, value: 500 }
const ROCKETCHAT = { text: 1_500, title: 250, value: 250 }
const DISCORD = { content: 1_000, title: 256, text: 2_500, value: 200 }
/** Bytes count for Teams, and a character may be three. */
const TEAMS = { title: 250, lines: 6_500, value: 200 }
const GOOGLE = { line: 700, whole: 4_000 }

const COLORS: Readonly<Record<AlertSeverity | 'resolved', string>> = {
  info: '#439FE0',
  warning: '#E9A820',
  critical: '#D40E0D',
  resolved: '#2EB67D',
}

export function chatBody(message: AlertMessage, { format, host, channel }: ChatChannel): JsonObject {
  const chat = format === 'auto' ? formatOf(host) : format
  switch (chat) {
    case 'slack':
      return attachments(message, { channel, escape: escapeSlack, bounds: SLACK })
    case 'mattermost':
      return attachments(message, { channel, escape: escapeMarkdown, bounds: SLACK })
    case 'rocketchat':
      return attachments(message, { channel, escape: escapeMarkdown, bounds: ROCKETCHAT })
    case 'discord':
      return discord(message)
    case 'teams':
      return teams(message)
    case 'google_chat':
      return googleChat(message)
    default:
      return unreachable(chat)
  }
}

export function formatOf(host: string): ChatKind {
  return HOSTS.find(([pattern]) => pattern.test(host.toLowerCase()))?.[1] ?? 'slack'
}

interface AttachmentStyle {
  readonly channel: string | undefined
  readonly escape: (text: string) => string
  readonly bounds: { readonly text: number; readonly title: number; readonly value: number }
}

function attachments(message: AlertMessage, { channel, escape: quote, bounds }: AttachmentStyle): JsonObject {
  const title = cut(quote(oneLine(headline(message))), bounds.title)
  const attachment: JsonObject = {
    color: colorOf(message),
    title,
    title_link: linkOf(message.told[0]),
    text: cut(bodyLines(message).map(quote).join('\n'), bounds.text),
    fields: factsOf(message).map(({ name, value }) => ({
      title: name,
      value: cut(quote(value), bounds.value),
      short: true,
    })),
  }
  return { ...(channel === undefined ? {} : { channel }), text: title, attachments: [attachment] }
}

function discord(message: AlertMessage): JsonObject {
  const title = escapeMarkdown(oneLine(headline(message)))
  return {
    content: cut(title, DISCORD.content),
    embeds: [
      {
        title: cut(title, DISCORD.title),
        url: linkOf(message.told[0]),
        description: cut(bodyLines(message).map(escapeMarkdown).join('\n'), DISCORD.text),
        color: Number.parseInt(colorOf(message).slice(1), 16),
        fields: factsOf(message).map(({ name, value }) => ({
          name,
          value: cut(escapeMarkdown(value), DISCORD.value),
          inline: true,
        })),
      },
    ],
    allowed_mentions: { parse: [] },
  }
}

function teams(message: AlertMessage): JsonObject {
  const link = linkOf(message.told[0])
  const lines = bodyLines(message)
  const lineCharsMax = Math.floor(TEAMS.lines / Math.max(1, lines.length))
  const block = (text: string, style: JsonObject = {}): JsonObject => {
    return { type: 'TextBlock', text, wrap: true, ...style }
  }
  const card: JsonObject = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [
      block(cut(escapeMarkdown(oneLine(headline(message))), TEAMS.title), {
        size: 'Large',
        weight: 'Bolder',
      }),
      ...lines.map((line) => block(cut(escapeMarkdown(line), lineCharsMax))),
      {
        type: 'FactSet',
        facts: factsOf(message).map(({ name, value }) => ({
          title: name,
          value: cut(escapeMarkdown(value), TEAMS.value),
        })),
      },
    ],
    actions: link === '' ? [] : [{ type: 'Action.OpenUrl', title: 'Open', url: link }],
  }
  const contentType = 'application/vnd.microsoft.card.adaptive'
  return { type: 'message', attachments: [{ contentType, contentUrl: null, content: card }] }
}

function googleChat(message: AlertMessage): JsonObject {
  const facts = factsOf(message).map(({ name, value }) => `${name}: ${cut(value, GOOGLE.line)}`)
  const lines = [
    oneLine(headline(message)),
    ...bodyLines(message).map((line) => cut(line, GOOGLE.line)),
    ...facts,
  ]
  const link = linkOf(message.told[0])
  const text = lines.map(escapeGoogleChat).join('\n')
  return { text: `${cut(text, GOOGLE.whole - link.length - 1)}\n${link}` }
}

function colorOf({ event, severity }: AlertMessage): string {
  return COLORS[event === 'resolved' ? 'resolved' : severity]
}
