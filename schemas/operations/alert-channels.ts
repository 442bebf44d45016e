// /alerts/channels: where alert notifications are sent. Only admins may change channels and see what they send.
import {
  ChannelBody,
  ChannelListQuery,
  ChannelPage,
  ChannelParams,
  ChannelTestBody,
  DeleteChannelQuery,
  DeliveryBody,
  DeliveryPage,
  DeliveryParams,
  EditChannelBody,
  NewChannelBody,
} from '../alert-channel.ts'
import { API, JSON_TYPES, type Operation } from '../operation.ts'
import { ROLES } from '../vocabulary.ts'

const PATH = `${API}/alerts/channels` as const
const tag = 'alerts'
const ADMIN = ['admin'] as const
const ONE = { tag, scope: 'none', path: `${PATH}/{channel_id}`, params: ChannelParams } as const
const WRONG = ['UNKNOWN_PLACEHOLDER', 'WEBHOOK_TARGET_FORBIDDEN', 'SMTP_NOT_CONFIGURED'] as const

export const listChannels = {
  method: 'GET',
  path: PATH,
  operationId: 'listChannels',
  summary: 'List the channels of alerts, newest first',
  tag,
  access: ROLES,
  scope: 'none',
  query: ChannelListQuery,
  replies: { 200: ChannelPage },
} as const satisfies Operation

export const createChannel = {
  method: 'POST',
  path: PATH,
  operationId: 'createChannel',
  summary: 'Create a channel',
  description: 'The `secret` of a webhook is shown in this answer only.',
  repeats: 'once',
  tag,
  access: ADMIN,
  scope: 'none',
  body: NewChannelBody,
  hasEtag: true,
  replies: { 201: ChannelBody },
  refusals: ['LIMIT_REACHED', ...WRONG],
} as const satisfies Operation

export const getChannel = {
  ...ONE,
  method: 'GET',
  operationId: 'getChannel',
  summary: 'Read a channel',
  access: ROLES,
  hasEtag: true,
  replies: { 200: ChannelBody },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const editChannel = {
  ...ONE,
  method: 'PATCH',
  operationId: 'editChannel',
  summary: 'Change a channel',
  access: ADMIN,
  body: EditChannelBody,
  bodyTypes: JSON_TYPES,
  hasEtag: true,
  takesIfMatch: true,
  replies: { 200: ChannelBody },
  refusals: ['NOT_FOUND', 'PRECONDITION_FAILED', 'IMMUTABLE_FIELD', ...WRONG],
} as const satisfies Operation

export const deleteChannel = {
  ...ONE,
  method: 'DELETE',
  operationId: 'deleteChannel',
  summary: 'Delete a channel',
  access: ADMIN,
  query: DeleteChannelQuery,
  replies: { 204: 'empty' },
  refusals: ['NOT_FOUND', 'CHANNEL_IN_USE'],
} as const satisfies Operation

export const testChannel = {
  ...ONE,
  method: 'POST',
  path: `${ONE.path}/test`,
  operationId: 'testChannel',
  summary: 'Send a sample to a channel, and wait for what comes of it',
  description: 'At most six times a minute.',
  access: ADMIN,
  replies: { 200: ChannelTestBody },
  refusals: ['NOT_FOUND', 'RATE_LIMIT_EXCEEDED'],
} as const satisfies Operation

export const rotateChannelSecret = {
  ...ONE,
  method: 'POST',
  path: `${ONE.path}/rotate-secret`,
  operationId: 'rotateChannelSecret',
  summary: 'Give a webhook a new secret; the one before signs, too, for 24 hours',
  access: ADMIN,
  hasEtag: true,
  replies: { 200: ChannelBody },
  refusals: ['NOT_FOUND', 'INVALID_STATE_TRANSITION'],
} as const satisfies Operation

export const listDeliveries = {
  ...ONE,
  method: 'GET',
  path: `${ONE.path}/deliveries`,
  operationId: 'listDeliveries',
  summary: 'List what was sent to a channel, newest first',
  access: ADMIN,
  query: ChannelListQuery,
  replies: { 200: DeliveryPage },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const redeliver = {
  method: 'POST',
  path: `${API}/alerts/deliveries/{delivery_id}/redeliver`,
  operationId: 'redeliver',
  summary: 'Send a message once more, under the same id',
  tag,
  access: ADMIN,
  scope: 'none',
  params: DeliveryParams,
  replies: { 202: DeliveryBody },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation
