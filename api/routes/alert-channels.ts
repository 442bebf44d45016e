// /alerts/channels and /alerts/deliveries.
import type { Channel } from '../../engine/domain/alert/channel.ts'
import { errorCodeOf, statusOf } from '../../engine/domain/alert/delivery.ts'
import type { TestResult } from '../../engine/ports/alert-channels.ts'
import type { ChannelTestBody, EditChannelBody } from '../../schemas/alert-channel.ts'
import { ChannelId, toIso } from '../../schemas/ids.ts'
import {
  createChannel,
  deleteChannel,
  editChannel,
  getChannel,
  listChannels,
  listDeliveries,
  redeliver,
  rotateChannelSecret,
  testChannel,
} from '../../schemas/operations/alert-channels.ts'
import { channelBody, channelSummary, deliveryBody } from '../bodies/channel-body.ts'
import { type Answer, answer } from '../http/answer.ts'
import { parseIfMatch, quoted } from '../http/etag.ts'
import { refuseChangedFields } from '../http/immutable-fields.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { createFor } from '../http/repeats.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { type Refusal, refused } from '../refusal.ts'
import { readChannel } from './channel-settings.ts'

/** How often an edit is retried because another edit came first. */
const EDITS_MAX = 5

export function alertChannelRoutes(services: Services): readonly Route[] {
  const { engine, ids, clock } = services
  const find = async (id: string): Promise<Channel | undefined> => {
    const listed = await engine.channels({ op: 'list' })
    return listed.kind === 'channels' ? listed.channels.find((channel) => channel.id === id) : undefined
  }
  return [
    route(listChannels, async ({ query, url, user }) => {
      const listed = await engine.channels({ op: 'list' })
      if (listed.kind === 'refused') return listed
      const window = toWindow(query)
      const page = listed.channels.slice(window.offset, window.offset + window.perPage)
      const show = user.role === 'admin' ? (channel: Channel) => channelBody(channel) : channelSummary
      return pageAnswer(page.map(show), listed.channels.length, window, url)
    }),
    route(createChannel, async ({ body, user, repeatKey }) => {
      const read = readChannel(body.type, body, undefined)
      if (read.kind === 'refused') return read
      const { settings } = read
      const made = await createFor(
        repeatKey,
        { prefix: 'ch_', ids, clock },
        {
          create: (id) => engine.channels({ op: 'create', id: ChannelId(id), settings, by: user.id }),
          createdAt: (outcome) => (outcome.kind === 'refused' ? undefined : outcome.channel.createdAt),
        },
      )
      if (made.kind === 'refused') return made
      const location = `${createChannel.path}/${made.channel.id}`
      return channelAnswer(201, made.channel, { showsSecret: true, location })
    }),
    route(getChannel, async ({ params, user }) => {
      const channel = await find(params.channel_id)
      if (channel === undefined) return channelNotFound()
      const body = user.role === 'admin' ? channelBody(channel) : channelSummary(channel)
      return answer(200, body, { etag: quoted(String(channel.revision)) })
    }),
    route(editChannel, async ({ params, body, header }) => {
      for (let tried = 1; ; tried++) {
        const channel = await find(params.channel_id)
        if (channel === undefined) return channelNotFound()
        const edited = await edit(services, channel, { body, ifMatch: header('if-match') })
        const isOvertaken = edited.kind === 'refused' && edited.code === 'PRECONDITION_FAILED'
        if (!isOvertaken || header('if-match') !== undefined || tried === EDITS_MAX) return edited
      }
    }),
    route(deleteChannel, async ({ params, query }) => {
      const id = ChannelId(params.channel_id)
      const removed = await engine.channels({ op: 'remove', id, force: query.force ?? false })
      return removed.kind === 'refused' ? removed : answer(204, undefined)
    }),
    route(testChannel, async ({ params }) => {
      const call = { op: 'test', id: ChannelId(params.channel_id), name: ids.next('') } as const
      const tested = await engine.channels(call)
      return tested.kind === 'refused' ? tested : answer(200, testBody(tested))
    }),
    route(rotateChannelSecret, async ({ params }) => {
      const rotated = await engine.channels({ op: 'rotate', id: ChannelId(params.channel_id) })
      return rotated.kind === 'refused' ? rotated : channelAnswer(200, rotated.channel, { showsSecret: true })
    }),
    route(listDeliveries, async ({ params, query, url }) => {
      const window = toWindow(query)
      const { offset, perPage: limit } = window
      const found = await engine.channels({
        op: 'deliveries',
        id: ChannelId(params.channel_id),
        offset,
        limit,
      })
      if (found.kind === 'refused') return found
      return pageAnswer(found.deliveries.map(deliveryBody), found.total, window, url)
    }),
    route(redeliver, async ({ params }) => {
      const again = await engine.channels({ op: 'redeliver', deliveryId: params.delivery_id })
      if (again.kind === 'refused') return again
      const location = `${listChannels.path}/${again.delivery.channelId}/deliveries`
      return answer(202, deliveryBody(again.delivery), { location })
    }),
  ]
}

async function edit(
  { engine }: Services,
  channel: Channel,
  { body, ifMatch }: { readonly body: EditChannelBody; readonly ifMatch: string | undefined },
): Promise<Answer | Refusal> {
  const { id, revision, target } = channel
  if (body.type !== undefined && body.type !== target.kind)
    return refused('IMMUTABLE_FIELD', { message: 'the type of a channel stays', field: 'type' })
  const shown = { channel_id: id, created_by: channel.createdBy, created_at: toIso(channel.createdAt) }
  const changed = refuseChangedFields(body, shown)
  if (changed !== undefined) return changed
  if (parseIfMatch(ifMatch, revision).kind === 'stale')
    return refused('PRECONDITION_FAILED', { expected: quoted(String(revision)), got: ifMatch })
  const read = readChannel(target.kind, body, channel)
  if (read.kind === 'refused') return read
  const edited = await engine.channels({ op: 'replace', id, settings: read.settings, revision })
  return edited.kind === 'refused' ? edited : channelAnswer(200, edited.channel, {})
}

function channelAnswer(
  status: number,
  channel: Channel,
  { showsSecret = false, location }: { readonly showsSecret?: boolean; readonly location?: string },
): Answer {
  const etag = quoted(String(channel.revision))
  const headers = { etag, ...(location === undefined ? {} : { location }) }
  return answer(status, channelBody(channel, { showsSecret }), {
    ...headers,
    ...(showsSecret ? { 'cache-control': 'no-store' } : {}),
  })
}

/** What to do about each error. The receiver's own text is never shown. */
const ERROR_TEXTS: Readonly<Record<string, string>> = {
  WEBHOOK_TARGET_FORBIDDEN: 'the address is not public, and FLEET_WEBHOOK_ALLOW does not name it',
  TIMEOUT: 'the receiver did not answer in time',
  DNS: 'the name of the host was not found',
  TLS: 'the certificate of the host is not trusted',
  CONNECTION_REFUSED: 'nobody listens at this address',
  SMTP: 'the mail server cannot be reached, or did not take the message',
  SMTP_REFUSED: 'the mail server refused the message for good; its log says why',
  SMTP_RECIPIENT: 'the mail server did not take the message for all receivers',
  SMTP_AUTH: 'the mail server refused the user and password of FLEET_SMTP_URL',
}

function testBody({ result, latencyMs }: TestResult): ChannelTestBody {
  const code = errorCodeOf(result)
  const body = { delivered: code === undefined, status_code: statusOf(result) ?? null, latency_ms: latencyMs }
  if (code === undefined) return body
  const message =
    ERROR_TEXTS[code] ?? (result.kind === 'answered' ? `the receiver answered ${result.status}` : code)
  return { ...body, error: { code, message } }
}

const channelNotFound = () => refused('NOT_FOUND', { message: 'no such channel' })
