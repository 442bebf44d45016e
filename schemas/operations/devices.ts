// /devices and /device-types: the fleet's records. Everyone may read them, only an admin may change them.
import {
  DecommissionQuery,
  DeviceBody,
  DeviceListQuery,
  DevicePage,
  DeviceParams,
  EditDeviceBody,
  RegisterDeviceBody,
  RegisteredDevice,
  ReplaceDeviceBody,
} from '../device.ts'
import { DeviceTypeList } from '../device-type.ts'
import { API, JSON_TYPES, type Operation } from '../operation.ts'
import { ROLES } from '../vocabulary.ts'

const PATH = `${API}/devices` as const
const tag = 'devices'
const ONE = { tag, scope: 'device', path: `${PATH}/{device_id}`, params: DeviceParams } as const
const EDIT = {
  ...ONE,
  access: ['admin'],
  hasEtag: true,
  takesIfMatch: true,
  replies: { 200: DeviceBody },
  refusals: [
    'NOT_FOUND',
    'IMMUTABLE_FIELD',
    'PRECONDITION_FAILED',
    'DEVICE_DECOMMISSIONED',
    'INVALID_STATE_TRANSITION',
  ],
} as const

export const listDevices = {
  method: 'GET',
  path: PATH,
  operationId: 'listDevices',
  summary: 'List devices',
  tag,
  access: ROLES,
  scope: 'list',
  query: DeviceListQuery,
  replies: { 200: DevicePage },
} as const satisfies Operation

export const registerDevice = {
  method: 'POST',
  path: PATH,
  operationId: 'registerDevice',
  summary: 'Register a device',
  repeats: 'once',
  tag,
  access: ['admin'],
  scope: 'none',
  body: RegisterDeviceBody,
  hasEtag: true,
  replies: { 201: RegisteredDevice },
  refusals: ['ALREADY_EXISTS'],
} as const satisfies Operation

export const getDevice = {
  ...ONE,
  method: 'GET',
  operationId: 'getDevice',
  summary: 'Read a device',
  access: ROLES,
  hasEtag: true,
  replies: { 200: DeviceBody, 304: 'empty' },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const replaceDevice = {
  ...EDIT,
  method: 'PUT',
  operationId: 'replaceDevice',
  summary: 'Replace the changeable fields of a device',
  body: ReplaceDeviceBody,
} as const satisfies Operation

export const editDevice = {
  ...EDIT,
  method: 'PATCH',
  operationId: 'editDevice',
  summary: 'Change fields of a device, or set its status',
  body: EditDeviceBody,
  bodyTypes: JSON_TYPES,
} as const satisfies Operation

export const decommissionDevice = {
  ...ONE,
  method: 'DELETE',
  operationId: 'decommissionDevice',
  summary: 'Decommission a device, or remove everything about it',
  description:
    'With `purge=true` nothing of the device is left but the audit: record, shadow, commands, telemetry, history, dead letters and retained messages go, and the id can be registered again. 202 says that ClickHouse could not be asked yet: the device is decommissioned, and the rest follows by itself. The sub-devices of a gateway are purged before it.',
  access: ['admin'],
  query: DecommissionQuery,
  hasEtag: true,
  takesIfMatch: true,
  replies: { 200: DeviceBody, 202: DeviceBody },
  refusals: ['NOT_FOUND', 'PRECONDITION_FAILED', 'LIMIT_REACHED', 'HAS_SUB_DEVICES'],
} as const satisfies Operation

export const listDeviceTypes = {
  method: 'GET',
  path: `${API}/device-types`,
  operationId: 'listDeviceTypes',
  summary: 'List the device types, built-in ones first',
  tag,
  access: ROLES,
  scope: 'none',
  replies: { 200: DeviceTypeList },
} as const satisfies Operation
