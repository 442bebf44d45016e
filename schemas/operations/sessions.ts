// /auth/session and /auth/sessions: logins of browsers, and the list of a user's logins.
import { API, type Operation } from '../operation.ts'
import {
  BrowserSession,
  BrowserSessionBody,
  RefreshSessionBody,
  SessionParams,
  UserSessions,
} from '../session.ts'
import { ROLES } from '../vocabulary.ts'

const tag = 'auth'
const SESSION = `${API}/auth/session`

export const createBrowserSession = {
  method: 'POST',
  path: SESSION,
  operationId: 'createBrowserSession',
  summary: 'Log a browser in',
  description:
    'The refresh token goes into a cookie that only these endpoints get and scripts cannot read, and is replaced at every use. Only pages of the service itself are answered.',
  tag,
  access: 'public',
  ownPagesOnly: true,
  setsCookie: true,
  scope: 'none',
  body: BrowserSessionBody,
  replies: { 200: BrowserSession },
  refusals: ['INVALID_CREDENTIALS', 'UNAUTHENTICATED', 'TOKEN_EXPIRED', 'RATE_LIMIT_EXCEEDED'],
} as const satisfies Operation

export const refreshBrowserSession = {
  method: 'POST',
  path: `${SESSION}/refresh`,
  operationId: 'refreshBrowserSession',
  summary: 'Get a new access token for the browser’s cookie',
  description:
    'The cookie is replaced. If an earlier one is used again more than 10 seconds later, two have it, and the login ends.',
  tag,
  access: 'public',
  ownPagesOnly: true,
  setsCookie: true,
  scope: 'none',
  body: RefreshSessionBody,
  replies: { 200: BrowserSession },
  refusals: ['UNAUTHENTICATED', 'TOKEN_EXPIRED'],
} as const satisfies Operation

export const deleteBrowserSession = {
  method: 'DELETE',
  path: SESSION,
  operationId: 'deleteBrowserSession',
  summary: 'Log the browser out',
  tag,
  access: 'public',
  ownPagesOnly: true,
  setsCookie: true,
  scope: 'none',
  replies: { 204: 'empty' },
} as const satisfies Operation

export const listSessions = {
  method: 'GET',
  path: `${API}/auth/sessions`,
  operationId: 'listSessions',
  summary: 'List the caller’s own logins',
  tag,
  access: ROLES,
  scope: 'self',
  replies: { 200: UserSessions },
  refusals: ['FORBIDDEN'],
} as const satisfies Operation

export const endSession = {
  method: 'DELETE',
  path: `${API}/auth/sessions/{session_id}`,
  operationId: 'endSession',
  summary: 'End one of the caller’s own logins',
  tag,
  access: ROLES,
  scope: 'self',
  params: SessionParams,
  replies: { 204: 'empty' },
  refusals: ['FORBIDDEN', 'NOT_FOUND'],
} as const satisfies Operation
