// /devices/{device_id}/logs and …/events: a device's log lines, and what happened to it.
import { DeviceParams } from '../device.ts'
import { EventPage, EventQuery, LogPage, LogQuery } from '../history.ts'
import { API, DATABASE_WORK, type Operation } from '../operation.ts'
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
