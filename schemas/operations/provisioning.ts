// /auth/provisioning-keys and /auth/provision: devices that register themselves.
import { API, type Operation } from '../operation.ts'
import {
  NewProvisioningKey,
  NewProvisioningKeyBody,
  ProvisionBody,
  ProvisionedDevice,
  ProvisioningClaimBody,
  ProvisioningClaimParams,
  ProvisioningKeyDetail,
  ProvisioningKeyListQuery,
  ProvisioningKeyPage,
  ProvisioningKeyParams,
} from '../provisioning.ts'

const tag = 'provisioning'
const ALL = `${API}/auth/provisioning-keys`
const ONE = `${ALL}/{provisioning_key_id}`
const CLAIM = `${ONE}/devices/{waiting_id}`
const ADMIN = ['admin'] as const

export const createProvisioningKey = {
  method: 'POST',
  path: ALL,
  operationId: 'createProvisioningKey',
  summary: 'Create a provisioning key, which is shown only once',
  repeats: 'once',
  tag,
  access: ADMIN,
  scope: 'none',
  body: NewProvisioningKeyBody,
  replies: { 201: NewProvisioningKey },
  refusals: ['LIMIT_REACHED'],
} as const satisfies Operation

export const listProvisioningKeys = {
  method: 'GET',
  path: ALL,
  operationId: 'listProvisioningKeys',
  summary: 'List provisioning keys, newest first',
  tag,
  access: ADMIN,
  scope: 'none',
  query: ProvisioningKeyListQuery,
  replies: { 200: ProvisioningKeyPage },
} as const satisfies Operation

export const getProvisioningKey = {
  method: 'GET',
  path: ONE,
  operationId: 'getProvisioningKey',
  summary: 'Read a provisioning key and the devices that wait for approval',
  tag,
  access: ADMIN,
  scope: 'none',
  params: ProvisioningKeyParams,
  replies: { 200: ProvisioningKeyDetail },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const deleteProvisioningKey = {
  method: 'DELETE',
  path: ONE,
  operationId: 'deleteProvisioningKey',
  summary: 'Delete a provisioning key, which is void at once',
  description: 'Devices that it registered stay, and keep their tokens.',
  tag,
  access: ADMIN,
  scope: 'none',
  params: ProvisioningKeyParams,
  replies: { 204: 'empty' },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const approveProvisioning = {
  method: 'POST',
  path: `${CLAIM}/approve`,
  operationId: 'approveProvisioning',
  summary: 'Approve a device that waits',
  description: 'The device is registered when it asks again.',
  tag,
  access: ADMIN,
  scope: 'none',
  params: ProvisioningClaimParams,
  replies: { 200: ProvisioningClaimBody },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const rejectProvisioning = {
  method: 'DELETE',
  path: CLAIM,
  operationId: 'rejectProvisioning',
  summary: 'Reject a device that waits, and free its place',
  description: 'A device that asks again waits again. Only deleting the key keeps its devices out.',
  tag,
  access: ADMIN,
  scope: 'none',
  params: ProvisioningClaimParams,
  replies: { 204: 'empty' },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const provisionDevice = {
  method: 'POST',
  path: `${API}/auth/provision`,
  operationId: 'provisionDevice',
  summary: 'Register a device with a provisioning key, and get its token',
  description:
    'For the device itself. Until its first connection it may ask again, and gets a new token (200) that voids the earlier one. After that it is refused, and renews the token that it has.',
  tag,
  access: 'public',
  scope: 'none',
  body: ProvisionBody,
  // The handler writes the entry, because only it knows which key was used.
  isAudited: false,
  replies: { 200: ProvisionedDevice, 201: ProvisionedDevice },
  refusals: [
    'PROVISIONING_KEY_INVALID',
    'PROVISIONING_KEY_EXPIRED',
    'PROVISIONING_KEY_USED_UP',
    'PROVISIONING_ID_NOT_ALLOWED',
    'PROVISIONING_PENDING',
    'ALREADY_EXISTS',
    'DEVICE_DECOMMISSIONED',
    'LIMIT_REACHED',
    'RATE_LIMIT_EXCEEDED',
  ],
} as const satisfies Operation
