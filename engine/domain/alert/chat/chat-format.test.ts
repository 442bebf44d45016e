import { createRequire } from 'node:module'
import type { RESTPostAPIWebhookWithTokenJSONBody } from 'discord-api-types/v10'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../../../schemas/json.ts'
import { CHAT_FORMATS, type ChatFormat } from '../../../../schemas/vocabulary.ts'
import type { AlertMessage } from '../message.ts'
import { alertMessage, alertMessageOf, toldAlert } from '../testing/alert-message.ts'
import { HOSTILE_VALUES } from '../testing/hostile-values.ts'
import { chatBody, formatOf } from './chat-format.ts'

// The package's modules do not load as modules, and its one file has no types of its own.
const { AdaptiveCard } = createRequire(import.meta.url)(
  'adaptivecards/dist/adaptivecards.js',
) as typeof import('adaptivecards')

const FORMATS = CHAT_FORMATS.filter((format) => format !== 'auto')

test.each(FORMATS)('%s shows device, alert, value, threshold and link', (format) => {
  const text = JSON.stringify(body(format, alertMessage()))
  for (const part of [
    'Pump 7',
    'threshold',
    '17.5',
    '20',
    'https://fleet.example.com/devices/pump-7',
    'battery low',
  ])
    expect(text).toContain(part)
})

test.each([
  ['hooks.slack.com', 'slack'],
  ['discord.com', 'discord'],
  ['ptb.discordapp.com', 'discord'],
  ['acme.webhook.office.com', 'teams'],
  ['prod-1.westeurope.logic.azure.com', 'teams'],
  ['chat.googleapis.com', 'google_chat'],
  ['mattermost.example.com', 'mattermost'],
  ['acme.rocket.chat', 'rocketchat'],
  ['notslack.com.example.com', 'slack'],
  ['notdiscord.com', 'slack'],
])('the host %s takes the format %s', (host, format) => {
  expect(formatOf(host)).toBe(format)
})

test('the channel is named where it was chosen, and left to the webhook otherwise', () => {
  const slack = chatBody(alertMessage(), { format: 'slack', host: 'x', channel: '#ops' })
  expect(slack).toMatchObject({
    channel: '#ops',
    attachments: [{ color: '#E9A820', title_link: expect.any(String) }],
  })
  expect(body('slack', alertMessage())).not.toHaveProperty('channel')
})

test('a resolved alert says when it fired and when it resolved', () => {
  const resolved = toldAlert({ resolved_at: '2026-11-22T14:05:00.000Z' }, { event: 'resolved' })
  const message = alertMessage({ event: 'resolved', told: [resolved] })
  for (const format of FORMATS)
    expect(plain(written(body(format, message)), format)).toContain('fired 14:02, resolved 14:05 UTC')
})

test('a message of many names the first ones and counts the others', () => {
  const told = toldAlert()
  const message = alertMessage({ told: [told, ...Array.from({ length: 19 }, () => told)], total: 100 })
  for (const format of FORMATS) {
    const text = JSON.stringify(body(format, message))
    expect(text).toContain('and 80 more')
    expect(text).toContain('100 alerts: battery low')
  }
})

test('a digest names rules and counts', () => {
  const rules = [
    { name: 'battery low', fired: 30, resolved: 4 },
    { name: 'door open', fired: 3, resolved: 0 },
  ]
  const text = written(body('slack', alertMessage({ event: 'digest', total: 37, rules })))
  expect(text).toContain('battery low: 30 fired, 4 resolved')
  expect(text).toContain('door open: 3 fired, 0 resolved')
})

test.each(FORMATS)('%s keeps to the bounds of the chat, whatever the values are', (format) => {
  for (const text of ['x'.repeat(5_000), '<'.repeat(5_000), '*'.repeat(5_000), '😀'.repeat(3_000)]) {
    const told = toldAlert({ type: text, value: text, threshold: text }, alertMessageOf(text).told[0])
    const message = alertMessage({ told: [told, ...Array.from({ length: 19 }, () => told)], total: 1_000 })
    checkBounds(format, body(format, message))
  }
})

test.each(FORMATS)('in %s a hostile value is shown as it is and does nothing', (format) => {
  for (const hostile of HOSTILE_VALUES) {
    const json = body(format, alertMessageOf(hostile))
    expect(JSON.parse(JSON.stringify(json))).toEqual(json)
    const text = written(json)
    expect(text).not.toMatch(/<[!@#]|<users|<https?:|@everyone|@here|@channel|@all/)
    if (format !== 'slack' && format !== 'google_chat') expect(text).not.toMatch(/(?<!\\)\]\(/)
    expect(text).not.toMatch(/:\/\/evil/)
    expect(plain(text, format)).toContain(hostile.replaceAll('\u200B', ''))
  }
})

test('a card of Teams is one that its own library reads', () => {
  const json = body('teams', alertMessage()) as { attachments: [{ content: object }] }
  const card = new AdaptiveCard()
  card.parse(json.attachments[0].content)
  expect(card.getItemCount()).toBe(3)
  expect(card.getActionCount()).toBe(1)
  expect(card.version.toString()).toBe('1.2')
  expect(card.validateProperties().validationEvents).toEqual([])
})

test('a message to Discord has the fields of its types', () => {
  const json = body('discord', alertMessage()) as RESTPostAPIWebhookWithTokenJSONBody
  expect(json.allowed_mentions).toEqual({ parse: [] })
  expect(json.embeds?.[0]?.color).toBe(0xe9a820)
})

function body(format: ChatFormat, message: AlertMessage): JsonObject {
  return chatBody(message, { format, host: 'chat.example.com', channel: undefined })
}

interface Embed {
  readonly title: string
  readonly description: string
  readonly fields: readonly { readonly name: string; readonly value: string }[]
}

function checkBounds(format: ChatFormat, json: JsonObject): void {
  const bytes = JSON.stringify(json).length
  if (format === 'discord') {
    const { content, embeds } = json as unknown as {
      readonly content: string
      readonly embeds: readonly [Embed]
    }
    const [{ title, description, fields }] = embeds
    expect(content.length).toBeLessThanOrEqual(2_000)
    expect(title.length).toBeLessThanOrEqual(256)
    expect(description.length).toBeLessThanOrEqual(4_096)
    for (const { value } of fields) expect(value.length).toBeLessThanOrEqual(1_024)
    const all =
      title.length +
      description.length +
      fields.reduce((sum, { name, value }) => sum + name.length + value.length, 0)
    expect(all).toBeLessThanOrEqual(6_000)
  }
  if (format === 'teams') expect(Buffer.byteLength(JSON.stringify(json))).toBeLessThanOrEqual(28_000)
  if (format === 'google_chat') expect(String(json['text']).length).toBeLessThanOrEqual(4_096)
  if (format === 'rocketchat') expect(bytes).toBeLessThanOrEqual(8_000)
  if (format === 'slack' || format === 'mattermost') expect(bytes).toBeLessThanOrEqual(16_000)
}

/** Every text in it, without keys, and without our own links. */
function written(json: JsonObject): string {
  const texts: string[] = []
  JSON.stringify(json, (key, value: unknown) => {
    if (typeof value === 'string' && !['$schema', 'contentType'].includes(key)) texts.push(value)
    return value
  })
  return texts.join('\n').replaceAll('https://fleet.example.com/devices/pump-7', '')
}

/** What a reader sees: without escapes and spaces of no width. */
function plain(text: string, format: ChatFormat): string {
  const visible = text.replace(/\u200B/g, '')
  return format === 'slack'
    ? visible.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&')
    : visible.replace(/\\([\\`*_~|[\]()#>!])/g, '$1')
}
