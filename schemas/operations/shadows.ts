// /shadows: a device's desired state, its reported state, and the difference.
import { DeviceParams } from '../device.ts'
import { API, DATABASE_WORK, JSON_TYPES, type Operation } from '../operation.ts'
import {
  DeltaBody,
  DesiredBody,
  DesiredQuery,
  RevertBody,
  ShadowBody,
  ShadowHistoryPage,
  ShadowHistoryQuery,
  ShadowQuery,
} from '../shadow.ts'
import { ROLES } from '../vocabulary.ts'

const ONE = `${API}/shadows/{device_id}` as const
const SHARED = { tag: 'shadows', scope: 'device', params: DeviceParams } as const
const READ = { ...SHARED, method: 'GET', access: ROLES, refusals: ['NOT_FOUND'] } as const

export const getShadow = {
  ...READ,
  path: ONE,
  operationId: 'getShadow',
  summary: 'Read the shadow of a device, now or at an earlier version',
  query: ShadowQuery,
  hasEtag: true,
  replies: { 200: ShadowBody, 304: 'empty' },
  refusals: ['NOT_FOUND', 'SHADOW_VERSION_GONE'],
} as const satisfies Operation

export const getShadowDelta = {
  ...READ,
  path: `${ONE}/delta`,
  operationId: 'getShadowDelta',
  summary: 'Read the delta: the desired state that the device has not reported',
  hasEtag: true,
  replies: { 200: DeltaBody, 304: 'empty' },
} as const satisfies Operation

export const setDesiredState = {
  ...SHARED,
  method: 'PUT',
  path: `${ONE}/desired`,
  operationId: 'setDesiredState',
  summary: 'Change the desired state of a device (If-Match names the version that the change is meant for)',
  access: ['admin', 'operator'],
  query: DesiredQuery,
  body: DesiredBody,
  bodyTypes: JSON_TYPES,
  hasEtag: true,
  takesIfMatch: true,
  replies: { 200: ShadowBody },
  refusals: ['NOT_FOUND', 'DEVICE_SHADOW_CONFLICT', 'DEVICE_DECOMMISSIONED'],
} as const satisfies Operation

export const revertShadow = {
  ...SHARED,
  method: 'POST',
  path: `${ONE}/revert`,
  operationId: 'revertShadow',
  work: DATABASE_WORK,
  summary: 'Bring back the desired state of an earlier version',
  description:
    'It is a change like any other, and gets a version of its own. What the device reports stays as it is. If-Match names the version that the change is meant for.',
  access: ['admin', 'operator'],
  body: RevertBody,
  hasEtag: true,
  takesIfMatch: true,
  replies: { 200: ShadowBody },
  refusals: ['NOT_FOUND', 'SHADOW_VERSION_GONE', 'DEVICE_SHADOW_CONFLICT', 'DEVICE_DECOMMISSIONED'],
} as const satisfies Operation

export const getShadowHistory = {
  ...READ,
  path: `${ONE}/history`,
  operationId: 'getShadowHistory',
  work: DATABASE_WORK,
  summary: 'List every change of a shadow, newest first',
  query: ShadowHistoryQuery,
  replies: { 200: ShadowHistoryPage },
  refusals: ['NOT_FOUND', 'BAD_REQUEST'],
} as const satisfies Operation
