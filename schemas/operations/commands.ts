// /commands and /commands/{device_id}: commands to all devices and to one. Only users who may send commands may read them.
import {
  CommandBody,
  CommandListQuery,
  CommandPage,
  CommandParams,
  CommandRequestBody,
  FleetCommandPage,
  FleetCommandQuery,
  WaitQuery,
} from '../command.ts'
import { DeviceParams } from '../device.ts'
import { API, DATABASE_WORK, FLEET_SEARCH_WORK, type Operation } from '../operation.ts'

const PATH = `${API}/commands/{device_id}` as const
const SHARED = { tag: 'commands', access: ['admin', 'operator'], scope: 'device' } as const
const ONE = {
  ...SHARED,
  path: `${PATH}/{cmd_id}`,
  params: CommandParams,
  replies: { 200: CommandBody },
} as const

export const sendCommand = {
  ...SHARED,
  method: 'POST',
  path: PATH,
  operationId: 'sendCommand',
  summary: 'Send a command to a device',
  repeats: 'live',
  deviceRateExempts: 'critical',
  params: DeviceParams,
  query: WaitQuery,
  body: CommandRequestBody,
  replies: { 200: CommandBody, 202: CommandBody },
  refusals: ['NOT_FOUND', 'DEVICE_DECOMMISSIONED', 'UNKNOWN_COMMAND', 'COMMAND_QUEUE_FULL'],
} as const satisfies Operation

export const listCommands = {
  ...SHARED,
  method: 'GET',
  path: PATH,
  operationId: 'listCommands',
  work: DATABASE_WORK,
  summary: 'List the commands of a device, newest first',
  description:
    'Open commands and the latest finished ones are as they are now. Older ones are read from the history, up to the newest 10 000; while it cannot be read they are missing.',
  params: DeviceParams,
  query: CommandListQuery,
  replies: { 200: CommandPage },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const listFleetCommands = {
  ...SHARED,
  scope: 'list',
  method: 'GET',
  path: `${API}/commands`,
  operationId: 'listFleetCommands',
  work: FLEET_SEARCH_WORK,
  summary: 'List the commands of all devices, newest first',
  description:
    '`from` and `to` are about the creation. Commands that devices keep (every open one, and the latest finished ones) are as they are now; older ones are read from the history, which a command reaches about a second after a change.',
  query: FleetCommandQuery,
  replies: { 200: FleetCommandPage },
  refusals: ['BAD_REQUEST'],
} as const satisfies Operation

export const getCommand = {
  ...ONE,
  method: 'GET',
  operationId: 'getCommand',
  summary: 'Read a command',
  query: WaitQuery,
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const cancelCommand = {
  ...ONE,
  method: 'DELETE',
  operationId: 'cancelCommand',
  summary: 'Cancel a command that is not finished (one that was not sent yet never will be)',
  deviceRateExempts: 'all',
  refusals: ['NOT_FOUND', 'INVALID_STATE_TRANSITION', 'DEVICE_DECOMMISSIONED'],
} as const satisfies Operation
