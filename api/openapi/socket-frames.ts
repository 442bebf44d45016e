// The frames that /ws sends, as the documentation describes them. Frames from clients are in `schemas/ws.ts`, where they
// are validated.
import { type TSchema, Type } from 'typebox'
import { AlertBody } from '../../schemas/alert.ts'
import { ChannelBody } from '../../schemas/alert-channel.ts'
import { AuditEntry } from '../../schemas/audit.ts'
import { CommandBody } from '../../schemas/command.ts'
import { DeadLetterBody } from '../../schemas/dead-letter.ts'
import { DeviceBody } from '../../schemas/device.ts'
import { EventBody, LogBody } from '../../schemas/history.ts'
import { choice, FreeObject, Instant, object, orNull } from '../../schemas/json-schema.ts'
import { Problem } from '../../schemas/problem.ts'
import { ShadowEntry } from '../../schemas/shadow.ts'
import { HELD_REASONS, JOB_STATUSES, ROLES } from '../../schemas/vocabulary.ts'
import { CHANNELS, type ChannelName, type ServerFrame } from '../../schemas/ws.ts'
import { FleetEvent } from './fleet-frames.ts'

const Subscription = Type.String({ description: 'The `id` of the subscription.', examples: ['s1'] })
const frame = (type: string, fields: Readonly<Record<string, TSchema>>, title: string) =>
  Type.Object({ type: choice([type]), ...fields }, { title })

const Report = Type.Object(
  { timestamp: Instant, data: FreeObject },
  {
    title: 'TelemetryEvent',
    examples: [{ timestamp: '2026-03-01T08:30:00.000Z', data: { temperature: 21.5 } }],
  },
)
const JobEvent = object('FirmwareJobEvent', {
  deployment_id: Type.String({ examples: ['dep_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  device_id: Type.String({ examples: ['robot-7'] }),
  status: choice(JOB_STATUSES, { examples: ['downloading'] }),
  previous: orNull(choice(JOB_STATUSES)),
  held_reason: orNull(choice(HELD_REASONS)),
  attempt: Type.Integer({ minimum: 0, examples: [1] }),
  progress: orNull(Type.Number(), { examples: [40] }),
  error: orNull(Type.Object({ code: Type.String(), message: Type.String() })),
})
const PublicChannel = Type.Pick(ChannelBody, ['channel_id', 'name', 'type', 'severity', 'state'], {
  title: 'ChannelStateEvent',
  description: 'The state of a channel of alerts changed: the event `channel.state`.',
  examples: [
    { channel_id: 'ch_1', name: 'on call', type: 'webhook', severity: ['critical'], state: 'failing' },
  ],
})
/** The `data` of an event, by its channel. */
const EVENT_DATA: Readonly<Partial<Record<ChannelName, TSchema>>> = {
  devices: DeviceBody,
  telemetry: Report,
  commands: CommandBody,
  shadows: ShadowEntry,
  ota: JobEvent,
  logs: LogBody,
  events: EventBody,
  alerts: Type.Union([AlertBody, PublicChannel]),
  // `audit.recorded` or `dead_letter.added`.
  audit: Type.Union([AuditEntry, DeadLetterBody]),
  fleet: FleetEvent,
}

const event = (channel: string, data: TSchema) =>
  frame(
    'event',
    {
      id: Subscription,
      seq: Type.Integer({ minimum: 1, description: 'Counts the events of the subscription.', examples: [1] }),
      ts: Instant,
      channel: choice([channel]),
      event: Type.String({ description: 'What has happened.', examples: [channel] }),
      device_id: Type.Optional(
        orNull(Type.String(), { description: 'Null for what is about no device.', examples: ['robot-7'] }),
      ),
      data,
    },
    `${channel.slice(0, 1).toUpperCase()}${channel.slice(1)}EventFrame`,
  )

const User = Type.Object({
  id: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  email: orNull(Type.String(), { description: 'Null for an API key.', examples: ['ada@example.com'] }),
  name: Type.String({ examples: ['Ada'] }),
  role: choice(ROLES, { examples: ['operator'] }),
})
const { type: _, ...problemFields } = Problem.properties
const SocketProblem = Type.Object(problemFields, { title: 'SocketProblem', additionalProperties: true })

/** Frames other than events. A new frame needs an entry here. */
export const SERVER_FRAMES: Readonly<Record<Exclude<ServerFrame['type'], 'event'> | 'snapshot', TSchema>> = {
  auth_ok: frame(
    'auth_ok',
    { user: User, expires_at: orNull(Instant, { description: 'Null means never.' }) },
    'AuthOkFrame',
  ),
  token_expiring: frame(
    'token_expiring',
    { in: Type.Integer({ description: 'Seconds. Send another `auth` frame until then.', examples: [60] }) },
    'TokenExpiringFrame',
  ),
  subscribed: frame('subscribed', { id: Subscription }, 'SubscribedFrame'),
  unsubscribed: frame('unsubscribed', { id: Subscription }, 'UnsubscribedFrame'),
  snapshot: frame(
    'snapshot',
    {
      id: Subscription,
      data: Type.Array(FreeObject, {
        description: 'The present state, in the form of the channel’s events.',
      }),
    },
    'SnapshotFrame',
  ),
  resync: frame(
    'resync',
    {
      id: Subscription,
      dropped: Type.Integer({ description: 'How many events were left out.', examples: [37] }),
    },
    'ResyncFrame',
  ),
  error: frame('error', { id: Type.Optional(Subscription), problem: SocketProblem }, 'ErrorFrame'),
  pong: frame('pong', {}, 'PongFrame'),
}

export const EVENT_FRAMES: readonly (readonly [string, TSchema])[] = CHANNELS.map((channel) => [
  `${channel}_event`,
  event(channel, EVENT_DATA[channel] ?? FreeObject),
])
