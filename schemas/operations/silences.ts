// /alerts/silences: periods in which alerts are raised but nobody is notified.
import {
  EditSilence,
  SilenceBody,
  SilenceListQuery,
  SilencePage,
  SilenceParams,
  SilenceRequestBody,
} from '../alert.ts'
import { API, JSON_TYPES, type Operation } from '../operation.ts'
import { ROLES } from '../vocabulary.ts'

const PATH = `${API}/alerts/silences` as const
const WRITE = { tag: 'alerts', access: ['admin', 'operator'], scope: 'target' } as const
const ONE = { path: `${PATH}/{silence_id}`, params: SilenceParams } as const

export const listSilences = {
  tag: 'alerts',
  method: 'GET',
  path: PATH,
  operationId: 'listSilences',
  summary: 'List silences, the newest first',
  access: ROLES,
  scope: 'list',
  query: SilenceListQuery,
  replies: { 200: SilencePage },
} as const satisfies Operation

export const createSilence = {
  ...WRITE,
  method: 'POST',
  path: PATH,
  operationId: 'createSilence',
  summary: 'Mute the notifications of some alerts for a time',
  repeats: 'once',
  body: SilenceRequestBody,
  replies: { 201: SilenceBody },
  refusals: ['NOT_FOUND', 'LIMIT_REACHED'],
} as const satisfies Operation

export const getSilence = {
  tag: 'alerts',
  method: 'GET',
  ...ONE,
  operationId: 'getSilence',
  summary: 'Read a silence',
  access: ROLES,
  scope: 'target',
  replies: { 200: SilenceBody },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const editSilence = {
  ...WRITE,
  ...ONE,
  method: 'PATCH',
  operationId: 'editSilence',
  summary: 'Change a silence',
  body: EditSilence,
  bodyTypes: JSON_TYPES,
  replies: { 200: SilenceBody },
  refusals: ['NOT_FOUND', 'VALIDATION_FAILED'],
} as const satisfies Operation

export const deleteSilence = {
  ...WRITE,
  ...ONE,
  method: 'DELETE',
  operationId: 'deleteSilence',
  summary: 'End a silence now',
  replies: { 204: 'empty' },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation
