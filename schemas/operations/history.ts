// Log lines and events of one device or of all.
import { DeviceParams } from '../device.ts'
import {
  EventPage,
  EventQuery,
  FleetEventPage,
  FleetEventQuery,
  FleetLogPage,
  FleetLogQuery,
  LogPage,
  LogQuery,
} from '../history.ts'
import { API, DATABASE_WORK, FLEET_SEARCH_WORK, type Operation } from '../operation.ts'
import { ROLES } from '../vocabulary.ts'

const ONE = `${API}/devices/{device_id}` as const
const SHARED = {
  method: 'GET',
  tag: 'devices',
  access: ROLES,
  scope: 'device',
  params: DeviceParams,
  refusals: ['NOT_FOUND', 'BAD_REQUEST'],
} as const

export const listDeviceLogs = {
  ...SHARED,
  path: `${ONE}/logs`,
  operationId: 'listDeviceLogs',
  work: DATABASE_WORK,
  summary: 'List the log lines of a device from the last two weeks, newest first',
  query: LogQuery,
  replies: { 200: LogPage },
} as const satisfies Operation

export const listDeviceEvents = {
  ...SHARED,
  path: `${ONE}/events`,
  operationId: 'listDeviceEvents',
  work: DATABASE_WORK,
  summary: 'List what happened to a device: status, commands and shadow, newest first',
  query: EventQuery,
  replies: { 200: EventPage },
} as const satisfies Operation

const FLEET = {
  method: 'GET',
  tag: 'devices',
  access: ROLES,
  scope: 'list',
  work: FLEET_SEARCH_WORK,
  refusals: ['BAD_REQUEST'],
} as const

export const listFleetLogs = {
  ...FLEET,
  path: `${API}/logs`,
  operationId: 'listFleetLogs',
  summary: 'List the log lines of all devices from the last two weeks, newest first',
  query: FleetLogQuery,
  replies: { 200: FleetLogPage },
} as const satisfies Operation

export const listFleetEvents = {
  ...FLEET,
  path: `${API}/events`,
  operationId: 'listFleetEvents',
  summary: 'List what happened to all devices, newest first',
  description: 'Viewers see no commands.',
  query: FleetEventQuery,
  replies: { 200: FleetEventPage },
} as const satisfies Operation
