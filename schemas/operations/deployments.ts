// /ota/deployments and related operations: rollouts of firmware to devices.
import {
  BlockParams,
  DeploymentBody,
  DeploymentListQuery,
  DeploymentPage,
  DeploymentParams,
  DeploymentQuery,
  DeploymentRequestBody,
  JobBody,
  JobPage,
  JobParams,
  MemberListQuery,
  OtaDeviceBody,
  OtaDeviceParams,
  RollbackBody,
  RollbackRequestBody,
  VersionsBody,
  VersionsQuery,
} from '../deployment.ts'
import { API, type Operation } from '../operation.ts'
import { TargetPreview } from '../target-preview.ts'
import { ROLES } from '../vocabulary.ts'

const PATH = `${API}/ota/deployments` as const
const SHARED = { tag: 'ota', access: ['admin', 'operator'], scope: 'target' } as const
const ONE = { ...SHARED, params: DeploymentParams, refusals: ['NOT_FOUND'] } as const
const ACTION = {
  ...ONE,
  method: 'POST',
  hasEtag: true,
  takesIfMatch: true,
  replies: { 200: DeploymentBody },
  refusals: ['NOT_FOUND', 'INVALID_STATE_TRANSITION', 'PRECONDITION_FAILED'],
} as const
const JOB_ACTION = {
  ...SHARED,
  method: 'POST',
  refusals: ['NOT_FOUND', 'INVALID_STATE_TRANSITION'],
  scope: 'device',
  params: JobParams,
  replies: { 200: JobBody },
} as const

export const createDeployment = {
  ...SHARED,
  method: 'POST',
  path: PATH,
  operationId: 'createDeployment',
  summary: 'Deploy a firmware to devices',
  repeats: 'once',
  query: DeploymentQuery,
  body: DeploymentRequestBody,
  description:
    'With `dry_run=true` nothing is done: the answer tells which devices it would be for, and why others are left out.',
  replies: { 201: DeploymentBody, 200: TargetPreview },
  refusals: [
    'EMPTY_TARGET',
    'TARGET_CHANGED',
    'AMBIGUOUS_FIRMWARE',
    'FIRMWARE_YANKED',
    'FIRMWARE_DEPRECATED',
    'LIMIT_REACHED',
    'NOT_FOUND',
  ],
} as const satisfies Operation

export const listDeployments = {
  ...SHARED,
  scope: 'list',
  method: 'GET',
  path: PATH,
  operationId: 'listDeployments',
  summary: 'List deployments, the newest first',
  query: DeploymentListQuery,
  replies: { 200: DeploymentPage },
} as const satisfies Operation

export const getDeployment = {
  ...ONE,
  method: 'GET',
  path: `${PATH}/{deployment_id}`,
  operationId: 'getDeployment',
  summary: 'Read a deployment and how far it is',
  hasEtag: true,
  replies: { 200: DeploymentBody },
} as const satisfies Operation

export const listDeploymentDevices = {
  ...ONE,
  method: 'GET',
  path: `${PATH}/{deployment_id}/devices`,
  operationId: 'listDeploymentDevices',
  summary: 'List the devices of a deployment',
  query: MemberListQuery,
  replies: { 200: JobPage },
} as const satisfies Operation

export const pauseDeployment = {
  ...ACTION,
  path: `${PATH}/{deployment_id}/pause`,
  operationId: 'pauseDeployment',
  summary: 'Start no more devices; those that are under way go on',
} as const satisfies Operation

export const resumeDeployment = {
  ...ACTION,
  path: `${PATH}/{deployment_id}/resume`,
  operationId: 'resumeDeployment',
  summary: 'Go on with a deployment that is paused',
} as const satisfies Operation

export const approveDeployment = {
  ...ACTION,
  path: `${PATH}/{deployment_id}/approve`,
  operationId: 'approveDeployment',
  summary: 'Let a deployment go on to its next stage',
} as const satisfies Operation

export const cancelDeployment = {
  ...ACTION,
  path: `${PATH}/{deployment_id}/cancel`,
  operationId: 'cancelDeployment',
  summary: 'End a deployment; devices that install already end by themselves',
} as const satisfies Operation

export const retryDeploymentDevice = {
  ...JOB_ACTION,
  path: `${PATH}/{deployment_id}/devices/{device_id}/retry`,
  operationId: 'retryDeploymentDevice',
  summary: 'Try a device again that failed in a deployment',
} as const satisfies Operation

export const cancelDeploymentDevice = {
  ...JOB_ACTION,
  path: `${PATH}/{deployment_id}/devices/{device_id}/cancel`,
  operationId: 'cancelDeploymentDevice',
  summary: 'Take a device out of a deployment before it installs',
} as const satisfies Operation

export const getDeviceFirmware = {
  tag: 'ota',
  access: ['admin', 'operator'],
  scope: 'device',
  method: 'GET',
  path: `${API}/ota/devices/{device_id}`,
  operationId: 'getDeviceFirmware',
  summary: 'Read the firmware of a device and its jobs',
  params: OtaDeviceParams,
  replies: { 200: OtaDeviceBody },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const unblockFirmware = {
  tag: 'ota',
  access: ['admin'],
  scope: 'device',
  method: 'DELETE',
  path: `${API}/ota/devices/{device_id}/blocks/{firmware_id}`,
  operationId: 'unblockFirmware',
  summary: 'Offer a firmware again that failed on a device',
  params: BlockParams,
  replies: { 204: 'empty' },
  refusals: ['NOT_FOUND', 'DEVICE_DECOMMISSIONED'],
} as const satisfies Operation

export const rollBackDevice = {
  tag: 'ota',
  access: ['admin'],
  scope: 'device',
  method: 'POST',
  path: `${API}/ota/rollback/{device_id}`,
  operationId: 'rollBackDevice',
  summary: 'Take a device back to its previous firmware',
  repeats: 'once',
  params: OtaDeviceParams,
  body: RollbackRequestBody,
  bodyOptional: true,
  replies: { 202: RollbackBody },
  refusals: ['NOT_FOUND', 'NO_PREVIOUS_FIRMWARE', 'INVALID_STATE_TRANSITION', 'DEVICE_DECOMMISSIONED'],
} as const satisfies Operation

export const listFirmwareVersions = {
  tag: 'ota',
  access: ROLES,
  scope: 'list',
  method: 'GET',
  path: `${API}/ota/versions`,
  operationId: 'listFirmwareVersions',
  summary: 'Count devices by the firmware version that they run',
  description:
    'The version of the most devices comes first. Versions of as many devices are ordered by type, then by version, with the unknown version (`null`) last.',
  query: VersionsQuery,
  replies: { 200: VersionsBody },
} as const satisfies Operation
