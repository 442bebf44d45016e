// /api-keys: admins create credentials for services.
import {
  ApiKeyBody,
  ApiKeyListQuery,
  ApiKeyPage,
  ApiKeyParams,
  NewApiKey,
  NewApiKeyBody,
} from '../api-keys.ts'
import { API, type Operation } from '../operation.ts'

const tag = 'api-keys'
const ONE = `${API}/api-keys/{key_id}`
const ADMIN = ['admin'] as const

export const createApiKey = {
  method: 'POST',
  path: `${API}/api-keys`,
  operationId: 'createApiKey',
  summary: 'Create an API key, which is shown only once',
  repeats: 'once',
  tag,
  access: ADMIN,
  scope: 'none',
  body: NewApiKeyBody,
  replies: { 201: NewApiKey },
  refusals: ['LIMIT_REACHED'],
} as const satisfies Operation

export const listApiKeys = {
  method: 'GET',
  path: `${API}/api-keys`,
  operationId: 'listApiKeys',
  summary: 'List API keys, newest first',
  tag,
  access: ADMIN,
  scope: 'none',
  query: ApiKeyListQuery,
  replies: { 200: ApiKeyPage },
} as const satisfies Operation

export const getApiKey = {
  method: 'GET',
  path: ONE,
  operationId: 'getApiKey',
  summary: 'Read an API key’s rights and when it was last used',
  tag,
  access: ADMIN,
  scope: 'none',
  params: ApiKeyParams,
  replies: { 200: ApiKeyBody },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const deleteApiKey = {
  method: 'DELETE',
  path: ONE,
  operationId: 'deleteApiKey',
  summary: 'Delete an API key, which is void at once',
  tag,
  access: ADMIN,
  scope: 'none',
  params: ApiKeyParams,
  replies: { 204: 'empty' },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation
