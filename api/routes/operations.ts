// Operational endpoints, open to anyone: probes, metrics, and the description of the API itself.

import { Type } from 'typebox'
import { Liveness, Readiness } from '../../schemas/health.ts'
import { FreeObject } from '../../schemas/json-schema.ts'
import { answer } from '../http/answer.ts'
import { DOCS_POLICY } from '../http/docs-page.ts'
import { API, type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'

export interface Phase {
  /** Once it accepts connections. */
  readonly httpUrl: string | undefined
  readonly state: 'starting' | 'serving' | 'draining'
}

export interface OperationOptions {
  readonly phase: () => Phase
  readonly openApi: () => string
  readonly docs: () => string
}

const ReadyQuery = Type.Object({ verbose: Type.Optional(Type.String()) })

export function operationRoutes(
  { engine }: Services,
  { phase, openApi, docs }: OperationOptions,
): readonly Route[] {
  const shared = { method: 'GET', tag: 'operations', access: 'public' } as const
  const live = { replies: { 200: Liveness }, handle: () => answer(200, { status: 'live' }, UNCACHED) }
  return [
    route({ ...shared, ...live, path: '/livez', operationId: 'livez', summary: 'Whether the process runs' }),
    route({ ...shared, ...live, path: '/healthz', operationId: 'healthz', summary: 'The same as /livez' }),
    route({
      ...shared,
      path: '/readyz',
      operationId: 'readyz',
      summary: 'Whether requests are served; ?verbose names the dependencies',
      query: ReadyQuery,
      replies: { 200: Readiness, 503: Readiness },
      handle({ query }) {
        const body = readiness(engine, phase(), query.verbose !== undefined)
        return answer(body.status === 'ready' ? 200 : 503, body, UNCACHED)
      },
    }),
    route({
      ...shared,
      path: '/metrics',
      operationId: 'metrics',
      summary: 'Figures for Prometheus',
      replies: { 200: 'text' },
      async handle() {
        const type = 'text/plain; version=0.0.4; charset=utf-8'
        return answer(200, await engine.metrics(), { 'content-type': type })
      },
    }),
    route({
      ...shared,
      path: `${API}/openapi.json`,
      operationId: 'openapi',
      summary: 'This description',
      replies: { 200: FreeObject },
      handle: () => answer(200, openApi(), { 'content-type': 'application/json; charset=utf-8' }),
    }),
    route({
      ...shared,
      path: '/docs',
      operationId: 'docs',
      summary: 'This description, to read',
      replies: { 200: 'text' },
      handle: () =>
        answer(200, docs(), {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': DOCS_POLICY,
        }),
    }),
  ]
}

const UNCACHED = { 'cache-control': 'no-store' }

function readiness(engine: Services['engine'], { state, httpUrl }: Phase, verbose: boolean): Readiness {
  const dependencies = engine.health()
  const isWell = dependencies.every(({ ok }) => ok)
  const status = state === 'serving' ? (isWell ? 'ready' : 'degraded') : state
  if (!verbose) return { status }
  return {
    status,
    ...(httpUrl === undefined ? {} : { http_url: httpUrl }),
    mqtt_url: engine.mqttUrl(),
    dependencies: dependencies.map(({ name, ok, detail }) => ({ name, ok, detail })),
  }
}
