// /users: an admin manages users.
import { API, JSON_TYPES, type Operation } from '../operation.ts'
import { EditUserBody, UserBody, UserListQuery, UserPage, UserParams } from '../users.ts'

const tag = 'users'
const ONE = `${API}/users/{user_id}`
const ADMIN = ['admin'] as const

export const listUsers = {
  method: 'GET',
  path: `${API}/users`,
  operationId: 'listUsers',
  summary: 'List users',
  tag,
  access: ADMIN,
  scope: 'none',
  query: UserListQuery,
  replies: { 200: UserPage },
} as const satisfies Operation

export const getUser = {
  method: 'GET',
  path: ONE,
  operationId: 'getUser',
  summary: 'Read a user',
  tag,
  access: ADMIN,
  scope: 'none',
  params: UserParams,
  replies: { 200: UserBody },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const editUser = {
  method: 'PATCH',
  path: ONE,
  operationId: 'editUser',
  summary: 'Change a user’s role, profile, groups or password, or disable them',
  tag,
  access: ADMIN,
  scope: 'none',
  params: UserParams,
  body: EditUserBody,
  bodyTypes: JSON_TYPES,
  replies: { 200: UserBody },
  refusals: ['NOT_FOUND', 'ALREADY_EXISTS', 'LAST_ADMIN', 'RATE_LIMIT_EXCEEDED'],
} as const satisfies Operation

export const deleteUser = {
  method: 'DELETE',
  path: ONE,
  operationId: 'deleteUser',
  summary: 'Delete a user and end their logins',
  tag,
  access: ADMIN,
  scope: 'none',
  params: UserParams,
  replies: { 204: 'empty' },
  refusals: ['NOT_FOUND', 'LAST_ADMIN'],
} as const satisfies Operation
