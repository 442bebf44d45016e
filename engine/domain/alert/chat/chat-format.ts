// The body of a chat's webhook, in the form that the chat takes and cut to its bounds.
import type { JsonObject } from '../../../../schemas/json.ts'
import type { AlertSeverity, ChatFormat } from '../../../../schemas/vocabulary.ts'
import { unreachable } from '../../unreachable.ts'
import { cut, oneLine } from '../cut.ts'
import { type AlertMessage, bodyLines, factsOf, headline, linkOf } from '../message.ts'
import { inGoogleChat, inMarkdown, inSlack } from './harmless.ts'

export interface ChatChannel {
  readonly format: ChatFormat
  readonly host: string
  /** The chat's own channel, such as `#ops`, where the chat lets a webhook choose. */
  readonly channel: string | undefined
}

type OneFormat = Exclude<ChatFormat, 'auto'>

const HOSTS: readonly (readonly [RegExp, OneFormat])[] = [
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
  const one = format === 'auto' ? formatOf(host) : format
  switch (one) {
    case 'slack':
      return attachments(message, { channel, quote: inSlack, bounds: SLACK })
    case 'mattermost':
      return attachments(message, { channel, quote: inMarkdown, bounds: SLACK })
    case 'rocketchat':
      return attachments(message, { channel, quote: inMarkdown, bounds: ROCKETCHAT })
    case 'discord':
      return discord(message)
    case 'teams':
      return teams(message)
    case 'google_chat':
      return googleChat(message)
    default:
      return unreachable(one)
  }
}

export function formatOf(host: string): OneFormat {
  return HOSTS.find(([pattern]) => pattern.test(host.toLowerCase()))?.[1] ?? 'slack'
}

interface AttachmentStyle {
  readonly channel: string | undefined
  readonly quote: (text: string) => string
  readonly bounds: { readonly text: number; readonly title: number; readonly value: number }
}

function attachments(message: AlertMessage, { channel, quote, bounds }: AttachmentStyle): JsonObject {
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
  const title = inMarkdown(oneLine(headline(message)))
  return {
    content: cut(title, DISCORD.content),
    embeds: [
      {
        title: cut(title, DISCORD.title),
        url: linkOf(message.told[0]),
        description: cut(bodyLines(message).map(inMarkdown).join('\n'), DISCORD.text),
        color: Number.parseInt(colorOf(message).slice(1), 16),
        fields: factsOf(message).map(({ name, value }) => ({
          name,
          value: cut(inMarkdown(value), DISCORD.value),
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
  const block = (text: string, looks: JsonObject = {}): JsonObject => {
    return { type: 'TextBlock', text, wrap: true, ...looks }
  }
  const card: JsonObject = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [
      block(cut(inMarkdown(oneLine(headline(message))), TEAMS.title), { size: 'Large', weight: 'Bolder' }),
      ...lines.map((line) => block(cut(inMarkdown(line), lineCharsMax))),
      {
        type: 'FactSet',
        facts: factsOf(message).map(({ name, value }) => ({
          title: name,
          value: cut(inMarkdown(value), TEAMS.value),
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
  const text = lines.map(inGoogleChat).join('\n')
  return { text: `${cut(text, GOOGLE.whole - link.length - 1)}\n${link}` }
}

function colorOf({ event, severity }: AlertMessage): string {
  return COLORS[event === 'resolved' ? 'resolved' : severity]
}
