// /commands/$broadcast: one command to many devices.
import {
  BroadcastBody,
  BroadcastDevicesQuery,
  BroadcastListPage,
  BroadcastListQuery,
  BroadcastParams,
  BroadcastQuery,
  BroadcastRequestBody,
  BroadcastSendQuery,
  BroadcastStateBody,
  CommandPage,
} from '../command.ts'
import { API, type Operation } from '../operation.ts'
import { TargetPreview } from '../target-preview.ts'

const PATH = `${API}/commands/$broadcast` as const
const SHARED = { tag: 'commands', access: ['admin', 'operator'], scope: 'target' } as const
const ONE = {
  ...SHARED,
  path: `${PATH}/{broadcast_id}`,
  params: BroadcastParams,
  query: BroadcastQuery,
  replies: { 200: BroadcastStateBody },
  refusals: ['NOT_FOUND'],
} as const

export const broadcastCommand = {
  ...SHARED,
  method: 'POST',
  path: PATH,
  operationId: 'broadcastCommand',
  summary:
    'Send a command to many devices: those of a group, with a tag, named ones, or all that a filter finds',
  description:
    'With `dry_run=true` nothing is sent: the answer tells whom it would reach. Devices that are offline get the command if they return before it expires.',
  repeats: 'once',
  query: BroadcastSendQuery,
  body: BroadcastRequestBody,
  replies: { 200: TargetPreview, 202: BroadcastBody },
  refusals: ['EMPTY_TARGET', 'TARGET_CHANGED', 'NOT_FOUND'],
} as const satisfies Operation

export const listBroadcasts = {
  ...SHARED,
  scope: 'list',
  method: 'GET',
  path: PATH,
  operationId: 'listBroadcasts',
  summary: 'List the broadcasts that are kept, newest first, with the number of their commands by status',
  query: BroadcastListQuery,
  replies: { 200: BroadcastListPage },
} as const satisfies Operation

export const listBroadcastDevices = {
  ...SHARED,
  method: 'GET',
  path: `${PATH}/{broadcast_id}/devices`,
  operationId: 'listBroadcastDevices',
  summary: 'List the commands of a broadcast by device, such as those that failed',
  description:
    'Ordered by device. A command is listed as long as its device keeps it; those of devices outside of the caller’s groups are left out. Devices that were not sent a command are in `skipped` of the broadcast.',
  params: BroadcastParams,
  query: BroadcastDevicesQuery,
  replies: { 200: CommandPage },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const getBroadcast = {
  ...ONE,
  method: 'GET',
  operationId: 'getBroadcast',
  summary: 'Read a broadcast: its commands and their number by status',
} as const satisfies Operation

export const cancelBroadcast = {
  ...ONE,
  method: 'DELETE',
  operationId: 'cancelBroadcast',
  summary: 'Cancel the commands of a broadcast that are not finished',
} as const satisfies Operation
