// Public operations: probes, metrics, and the description of the API.
import { Liveness, Readiness, ReadyQuery } from '../health.ts'
import { FreeObject } from '../json-schema.ts'
import { API, type Operation } from '../operation.ts'
import { ProblemKind, ProblemKinds, ProblemParams } from '../problem.ts'

const SHARED = { method: 'GET', tag: 'operations', access: 'public', scope: 'none' } as const

export const livez = {
  ...SHARED,
  path: '/livez',
  operationId: 'livez',
  isUnlimited: true,
  summary: 'Check that the process runs',
  replies: { 200: Liveness },
} as const satisfies Operation

export const healthz = {
  ...SHARED,
  path: '/healthz',
  operationId: 'healthz',
  isUnlimited: true,
  summary: 'The same as /livez',
  replies: { 200: Liveness },
} as const satisfies Operation

export const readyz = {
  ...SHARED,
  path: '/readyz',
  operationId: 'readyz',
  isUnlimited: true,
  summary: 'Check that requests are served (?verbose names the dependencies)',
  query: ReadyQuery,
  replies: { 200: Readiness, 503: Readiness },
} as const satisfies Operation

export const metrics = {
  ...SHARED,
  path: '/metrics',
  operationId: 'metrics',
  summary: 'Metrics for Prometheus',
  description: 'Needs the bearer token of `FLEET_METRICS_TOKEN` if there is one.',
  replies: { 200: 'text' },
  refusals: ['UNAUTHENTICATED'],
} as const satisfies Operation

export const openapi = {
  ...SHARED,
  path: `${API}/openapi.json`,
  operationId: 'openapi',
  summary: 'This description of the API',
  replies: { 200: FreeObject },
} as const satisfies Operation

export const asyncapi = {
  ...SHARED,
  path: `${API}/asyncapi.json`,
  operationId: 'asyncapi',
  summary: 'The description of MQTT and /ws (AsyncAPI 3)',
  replies: { 200: FreeObject },
} as const satisfies Operation

export const docsAsync = {
  ...SHARED,
  path: '/docs/async',
  operationId: 'docsAsync',
  summary: 'The description of MQTT and /ws as a page',
  replies: { 200: 'text' },
  isPage: true,
} as const satisfies Operation

export const docs = {
  ...SHARED,
  path: '/docs',
  operationId: 'docs',
  summary: 'This description as a page to read and try out',
  replies: { 200: 'text' },
  isPage: true,
} as const satisfies Operation

export const listProblems = {
  ...SHARED,
  path: '/problems',
  operationId: 'listProblems',
  summary: 'List every problem that the service may answer with (a page for browsers)',
  replies: { 200: ProblemKinds },
  isPage: true,
} as const satisfies Operation

export const getProblem = {
  ...SHARED,
  path: '/problems/{code}',
  operationId: 'getProblem',
  summary: 'Explain a problem (the `type` of every problem points here)',
  params: ProblemParams,
  replies: { 200: ProblemKind },
  isPage: true,
  refusals: ['NOT_FOUND'],
} as const satisfies Operation
