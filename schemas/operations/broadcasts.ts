// /commands/$broadcast: one command to every device of a group.
import {
  BroadcastBody,
  BroadcastParams,
  BroadcastQuery,
  BroadcastStateBody,
  BroadcastWishBody,
} from '../command.ts'
import { API, type Operation } from '../operation.ts'

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
  summary: 'Send a command to every device of a group and of the groups below it',
  repeats: 'once',
  body: BroadcastWishBody,
  replies: { 202: BroadcastBody },
  refusals: ['EMPTY_TARGET'],
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
