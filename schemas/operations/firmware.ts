// /ota/firmware: the versions that devices can be updated to, and their images.
import {
  EditFirmwareBody,
  FirmwareBody,
  FirmwareListQuery,
  FirmwarePage,
  FirmwareParams,
  FirmwareUpload,
  ForceQuery,
  OtaKeys,
} from '../firmware.ts'
import { API, JSON_TYPES, type Operation } from '../operation.ts'

const PATH = `${API}/ota/firmware` as const
const COMMON = { tag: 'ota', scope: 'none' } as const
const ONE = { ...COMMON, path: `${PATH}/{firmware_id}`, params: FirmwareParams } as const
const CHANGE = {
  ...ONE,
  access: ['admin'],
  query: ForceQuery,
  takesIfMatch: true,
  refusals: ['NOT_FOUND', 'PRECONDITION_FAILED', 'FIRMWARE_IN_USE'],
} as const

export const uploadFirmware = {
  ...COMMON,
  method: 'POST',
  path: PATH,
  operationId: 'uploadFirmware',
  summary: 'Upload a firmware',
  description:
    'An upload that broke off leaves nothing and is sent again as a whole. The same version with the same bytes is answered 200 with what is there.',
  access: ['admin'],
  body: FirmwareUpload,
  bodyTypes: ['multipart/form-data'],
  streamsBody: true,
  isUpload: true,
  hasEtag: true,
  replies: { 200: FirmwareBody, 201: FirmwareBody },
  refusals: [
    'ALREADY_EXISTS',
    'LIMIT_REACHED',
    'REQUEST_TIMEOUT',
    'CHECKSUM_MISMATCH',
    'SIGNATURE_REQUIRED',
    'SIGNATURE_INVALID',
    'STORAGE_FULL',
  ],
} as const satisfies Operation

export const listFirmware = {
  ...COMMON,
  method: 'GET',
  path: PATH,
  operationId: 'listFirmware',
  summary: 'List firmware',
  access: ['admin', 'operator'],
  query: FirmwareListQuery,
  replies: { 200: FirmwarePage },
} as const satisfies Operation

export const getFirmware = {
  ...ONE,
  method: 'GET',
  operationId: 'getFirmware',
  summary: 'Get a firmware',
  access: ['admin', 'operator'],
  hasEtag: true,
  replies: { 200: FirmwareBody, 304: 'empty' },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const getFirmwareFile = {
  ...ONE,
  method: 'GET',
  path: `${PATH}/{firmware_id}/file`,
  operationId: 'getFirmwareFile',
  summary: 'Download the image of a firmware',
  description:
    'A `Range` header with one range is answered 206, and one that cannot be met 416. Several ranges are answered with the whole image. `If-Range` and `If-None-Match` are kept. A yanked firmware can still be examined here; devices never get it again.',
  access: ['admin', 'operator'],
  hasEtag: true,
  replies: { 200: 'bytes', 206: 'bytes', 304: 'empty' },
  files: ['application/octet-stream'],
  refusals: ['NOT_FOUND', 'RANGE_NOT_SATISFIABLE'],
} as const satisfies Operation

export const editFirmware = {
  ...CHANGE,
  method: 'PATCH',
  operationId: 'editFirmware',
  summary: 'Change the changelog of a firmware, deprecate it, or yank it for good',
  body: EditFirmwareBody,
  bodyTypes: JSON_TYPES,
  hasEtag: true,
  replies: { 200: FirmwareBody },
  refusals: [...CHANGE.refusals, 'INVALID_STATE_TRANSITION', 'IMMUTABLE_FIELD'],
} as const satisfies Operation

export const deleteFirmware = {
  ...CHANGE,
  method: 'DELETE',
  operationId: 'deleteFirmware',
  summary: 'Delete a firmware and its image',
  replies: { 204: 'empty' },
} as const satisfies Operation

export const listOtaKeys = {
  method: 'GET',
  path: '/.well-known/ota-keys.json',
  operationId: 'listOtaKeys',
  summary: 'The public keys that sign manifests of updates',
  tag: 'ota',
  access: 'public',
  scope: 'none',
  replies: { 200: OtaKeys },
} as const satisfies Operation
