// /views and /auth/me/preferences: what users save in the dashboard.
import { API, JSON_TYPES, type Operation } from '../operation.ts'
import {
  EditViewBody,
  NewViewBody,
  Preferences,
  ViewBody,
  ViewListQuery,
  ViewPage,
  ViewParams,
} from '../saved-views.ts'
import { ROLES } from '../vocabulary.ts'

const SHARED = { tag: 'users', access: ROLES, scope: 'self' } as const
const ALL = `${API}/views`
const ONE = `${ALL}/{view_id}`

export const listViews = {
  ...SHARED,
  method: 'GET',
  path: ALL,
  operationId: 'listViews',
  summary: 'List the caller’s saved views and those that are shared, by name',
  query: ViewListQuery,
  replies: { 200: ViewPage },
} as const satisfies Operation

export const createView = {
  ...SHARED,
  method: 'POST',
  path: ALL,
  operationId: 'createView',
  summary: 'Save an address of the dashboard under a name',
  repeats: 'once',
  body: NewViewBody,
  hasEtag: true,
  replies: { 201: ViewBody },
  refusals: ['FORBIDDEN', 'LIMIT_REACHED'],
} as const satisfies Operation

export const getView = {
  ...SHARED,
  method: 'GET',
  path: ONE,
  operationId: 'getView',
  summary: 'Read a saved view',
  params: ViewParams,
  hasEtag: true,
  replies: { 200: ViewBody },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const editView = {
  ...SHARED,
  method: 'PATCH',
  path: ONE,
  operationId: 'editView',
  summary: 'Change one of the caller’s own views',
  params: ViewParams,
  body: EditViewBody,
  bodyTypes: JSON_TYPES,
  hasEtag: true,
  takesIfMatch: true,
  replies: { 200: ViewBody },
  refusals: ['NOT_FOUND', 'FORBIDDEN', 'PRECONDITION_FAILED'],
} as const satisfies Operation

export const deleteView = {
  ...SHARED,
  method: 'DELETE',
  path: ONE,
  operationId: 'deleteView',
  summary: 'Delete one of the caller’s own views, or as an admin a shared one',
  params: ViewParams,
  replies: { 204: 'empty' },
  refusals: ['NOT_FOUND', 'FORBIDDEN'],
} as const satisfies Operation

export const getPreferences = {
  ...SHARED,
  method: 'GET',
  path: `${API}/auth/me/preferences`,
  operationId: 'getPreferences',
  summary: 'Read how the caller wants the dashboard to be',
  replies: { 200: Preferences },
  refusals: ['FORBIDDEN'],
} as const satisfies Operation

export const putPreferences = {
  ...SHARED,
  method: 'PUT',
  path: `${API}/auth/me/preferences`,
  operationId: 'putPreferences',
  summary: 'Keep how the caller wants the dashboard to be',
  body: Preferences,
  replies: { 200: Preferences },
  refusals: ['FORBIDDEN', 'LIMIT_REACHED'],
} as const satisfies Operation
