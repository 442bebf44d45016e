// What is open to anyone: probes, metrics, and the description of the API itself.
import { Liveness, Readiness, ReadyQuery } from '../health.ts'
import { FreeObject } from '../json-schema.ts'
import { API, type Operation } from '../operation.ts'

const SHARED = { method: 'GET', tag: 'operations', access: 'public', scope: 'none' } as const

export const livez = {
  ...SHARED,
  path: '/livez',
  operationId: 'livez',
  summary: 'Whether the process runs',
  replies: { 200: Liveness },
} as const satisfies Operation

export const healthz = {
  ...SHARED,
  path: '/healthz',
  operationId: 'healthz',
  summary: 'The same as /livez',
  replies: { 200: Liveness },
} as const satisfies Operation

export const readyz = {
  ...SHARED,
  path: '/readyz',
  operationId: 'readyz',
  summary: 'Whether requests are served; ?verbose names the dependencies',
  query: ReadyQuery,
  replies: { 200: Readiness, 503: Readiness },
} as const satisfies Operation

export const metrics = {
  ...SHARED,
  path: '/metrics',
  operationId: 'metrics',
  summary: 'Figures for Prometheus',
  replies: { 200: 'text' },
} as const satisfies Operation

export const openapi = {
  ...SHARED,
  path: `${API}/openapi.json`,
  operationId: 'openapi',
  summary: 'This description',
  replies: { 200: FreeObject },
} as const satisfies Operation

export const docs = {
  ...SHARED,
  path: '/docs',
  operationId: 'docs',
  summary: 'This description, to read',
  replies: { 200: 'text' },
} as const satisfies Operation
