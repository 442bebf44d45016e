// /audit: who did what.
import { AuditPage, AuditQuery } from '../audit.ts'
import { API, DATABASE_WORK, type Operation } from '../operation.ts'

export const listAudit = {
  method: 'GET',
  path: `${API}/audit`,
  operationId: 'listAudit',
  work: DATABASE_WORK,
  summary: 'List changes, logins and refusals, newest first',
  tag: 'audit',
  access: ['admin'],
  scope: 'none',
  query: AuditQuery,
  replies: { 200: AuditPage },
  refusals: ['BAD_REQUEST'],
} as const satisfies Operation
