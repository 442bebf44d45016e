// What a channel sends to real receivers: a webhook that verifies signatures with the library of Standard Webhooks, and a
// mail server.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { Webhook } from 'standardwebhooks'
import { afterEach, expect, test } from 'vitest'
import { ChannelId, Millis } from '../../../schemas/ids.ts'
import { GuardedHttp } from '../../adapters/http-out/guarded-http.ts'
import { SmtpMail } from '../../adapters/mail/smtp-mail.ts'
import { type Channel, type ChannelTarget, HEALTHY } from '../../domain/alert/channel.ts'
import { alertMessage, alertMessageOf } from '../../domain/alert/testing/alert-message.ts'
import { HOSTILE_VALUES } from '../../domain/alert/testing/hostile-values.ts'
import { parseAllowList } from '../../domain/outbound/allow-list.ts'
import { sendToChannel } from './channel-sender.ts'
import { newWebhookSecret } from './webhook-signature.ts'

const http = new GuardedHttp({ allow: parseAllowList('127.0.0.1') ?? [] })
const closes: (() => void)[] = []

afterEach(() => {
  for (const close of closes.splice(0)) close()
})

test('the library of Standard Webhooks verifies messages, with either secret after a rotation', async () => {
  const sink = await openSink()
  const [secret, former] = [newWebhookSecret(), newWebhookSecret()]
  const target = {
    ...webhook(sink.url),
    secret,
    former: { secret: former, until: Millis(Date.now() + 60_000) },
  }
  expect(await send(target, alertMessage())).toMatchObject({ kind: 'answered', status: 200 })
  const [{ headers, body } = { headers: {}, body: '' }] = sink.seen
  for (const key of [secret, former])
    expect(new Webhook(key).verify(body, headers as Record<string, string>)).toMatchObject({
      type: 'alert.fired',
      data: {
        notification_id: 'ntf_1',
        alert: { alert_id: 'alt_1', value: 17.5 },
        device: { id: 'pump-7', link: 'https://fleet.example.com/devices/pump-7' },
        rule: { id: 'rul_1' },
        total: 1,
      },
    })
  expect(() => new Webhook(newWebhookSecret()).verify(body, headers as Record<string, string>)).toThrow()
  expect(headers).toMatchObject({ 'webhook-id': 'ntf_1', 'user-agent': 'fleet/1.2.3' })
})

test('a secret from before a rotation is no longer used for signing once its time is over', async () => {
  const sink = await openSink()
  const former = { secret: newWebhookSecret(), until: Millis(Date.now() - 1) }
  await send({ ...webhook(sink.url), former }, alertMessage())
  expect(String(sink.seen[0]?.headers['webhook-signature']).split(' ')).toHaveLength(1)
})

test('a template is sent with the method and headers of its channel', async () => {
  const sink = await openSink()
  const template = '{"text":"{{alert.message}}","v":"{{alert.value:number}}","on":"{{device.id}}"}'
  await send({ ...webhook(sink.url), method: 'PUT', headers: { 'X-Token': 'x' }, template }, alertMessage())
  const [seen] = sink.seen
  expect(JSON.parse(seen?.body ?? '')).toEqual({ text: 'Pump 7: threshold 17.5 (20)', v: 17.5, on: 'pump-7' })
  expect(seen).toMatchObject({
    method: 'PUT',
    headers: { 'x-token': 'x', 'content-type': 'application/json' },
  })
})

test('hostile values arrive by mail unchanged, and add neither headers nor receivers', async () => {
  const mails = await openMailServer()
  const mail = new SmtpMail({ url: mails.url, from: 'Fleet <fleet@example.com>' })
  closes.push(() => mail.close())
  for (const hostile of HOSTILE_VALUES) {
    const target = { kind: 'email', to: ['ops@example.com'], subject: 'About {{device.name}}' } as const
    expect(await send(target, alertMessageOf(hostile), mail)).toMatchObject({ kind: 'answered', status: 200 })
  }
  expect(mails.seen).toHaveLength(HOSTILE_VALUES.length)
  for (const { to, source } of mails.seen) {
    expect(to).toEqual(['ops@example.com'])
    const [head = ''] = source.split('\r\n\r\n')
    expect(head).toMatch(/^Message-ID: <ntf_1@example\.com>\r?$/m)
    expect(head).not.toMatch(/^Bcc:/im)
  }
})

test('a mail server that is down is tried again, and one that refuses is not', async () => {
  const away = new SmtpMail({ url: 'smtp://127.0.0.1:1', from: 'fleet@example.com' })
  const target = { kind: 'email', to: ['ops@example.com'], subject: undefined } as const
  expect(await send(target, alertMessage(), away)).toEqual({ kind: 'failed', code: 'SMTP' })
  const mails = await openMailServer({ refuses: true })
  const refused = new SmtpMail({ url: mails.url, from: 'fleet@example.com' })
  closes.push(() => refused.close())
  expect(await send(target, alertMessage(), refused)).toMatchObject({
    kind: 'failed',
    code: 'SMTP_REFUSED',
    isFinal: true,
  })
})

function send(target: ChannelTarget, message: ReturnType<typeof alertMessage>, mail?: SmtpMail) {
  const given = { message, userAgent: 'fleet/1.2.3', now: Millis(Date.now()) }
  return sendToChannel({ http, mail }, channelTo(target), given)
}

function webhook(url: string): Extract<ChannelTarget, { readonly kind: 'webhook' }> {
  const secret = newWebhookSecret()
  return { kind: 'webhook', url, method: 'POST', headers: {}, template: undefined, secret, former: undefined }
}

function channelTo(target: ChannelTarget): Channel {
  return {
    ...{ id: ChannelId('ch_1'), name: 'x', enabled: true, severity: [], isDefault: false, group: undefined },
    ...{ groupWaitSec: 0, groupIntervalSec: 0, ratePerMinute: 60, fallbackChannelId: undefined },
    ...{
      sendResolved: undefined,
      health: HEALTHY,
      createdAt: Millis(0),
      createdBy: 'x',
      updatedAt: Millis(0),
    },
    ...{ revision: 1, target },
  }
}

interface WebhookRequest {
  readonly method: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

async function openSink(): Promise<{ readonly url: string; readonly seen: readonly WebhookRequest[] }> {
  const seen: WebhookRequest[] = []
  const server = createServer((request, answer) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (part: string) => {
      body += part
    })
    request.on('end', () => {
      seen.push({ method: request.method, headers: request.headers, body })
      answer.end('thanks')
    })
  })
  const port = await listening(server)
  closes.push(() => server.close())
  return { url: `http://127.0.0.1:${port}/hook`, seen }
}

async function openMailServer({ refuses = false } = {}) {
  const seen: { readonly to: readonly string[]; readonly source: string }[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: (_address, _session, done) => {
      done(refuses ? Object.assign(new Error('no such mailbox'), { responseCode: 550 }) : null)
    },
    onData(stream, session, done) {
      let source = ''
      stream.setEncoding('utf8')
      stream.on('data', (part: string) => {
        source += part
      })
      stream.on('end', () => {
        seen.push({ to: session.envelope.rcptTo.map(({ address }) => address), source })
        done()
      })
    },
  })
  const port = await new Promise<number>((resolve) => {
    const inner = server.listen(0, '127.0.0.1', () => resolve((inner.address() as AddressInfo).port))
  })
  closes.push(() => server.close())
  return { url: `smtp://127.0.0.1:${port}`, seen }
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    // The server listens on TCP, so its address is an object.
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}
