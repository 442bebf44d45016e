// /floor-plan: the picture under the plan of devices, shared by all users.
import { FloorPlanBody, PutFloorPlanBody } from '../floor-plan.ts'
import { API, type Operation } from '../operation.ts'
import { ROLES } from '../vocabulary.ts'

const PLAN = { tag: 'fleet', path: `${API}/floor-plan` } as const
const CHANGE = { ...PLAN, access: ['admin', 'operator'], scope: 'target', replies: { 204: 'empty' } } as const

export const getFloorPlan = {
  ...PLAN,
  method: 'GET',
  operationId: 'getFloorPlan',
  summary: 'Read the picture under the plan of devices, and where it lies; 204 if there is none',
  access: ROLES,
  scope: 'none',
  hasEtag: true,
  replies: { 200: FloorPlanBody, 204: 'empty', 304: 'empty' },
} as const satisfies Operation

export const putFloorPlan = {
  ...CHANGE,
  method: 'PUT',
  operationId: 'putFloorPlan',
  summary: 'Lay a picture under the plan of devices, in place of the one that is there',
  description:
    'Its corners are values of the two metrics that say where devices stand. All users see it, so a user who is limited to groups may not change it. It is kept where images of firmware are.',
  body: PutFloorPlanBody,
  refusals: ['FORBIDDEN', 'STORAGE_FULL'],
} as const satisfies Operation

export const deleteFloorPlan = {
  ...CHANGE,
  method: 'DELETE',
  operationId: 'deleteFloorPlan',
  summary: 'Take the picture away from under the plan of devices',
  refusals: ['FORBIDDEN'],
} as const satisfies Operation
