// Operational endpoints for anyone: probes, metrics, and the description of the API.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Readiness } from '../../schemas/health.ts'
import * as operations from '../../schemas/operations/service.ts'
import { answer } from '../http/answer.ts'
import { bearerOf } from '../http/gate.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { API_LIMITS } from '../limits.ts'
import { docsHeaders } from '../openapi/docs-page.ts'
import { pageHeaders } from '../openapi/html-page.ts'
import { refused } from '../refusal.ts'

export interface Phase {
  /** Set once the service accepts connections. */
  readonly httpUrl: string | undefined
  readonly state: 'starting' | 'serving' | 'draining'
}

export interface OperationOptions {
  readonly phase: () => Phase
  readonly openApi: () => string
  readonly docs: () => string
  readonly asyncApi: () => string
  readonly docsAsync: () => string
  /** If undefined, anyone may read the metrics. */
  readonly metricsToken: string | undefined
}

export function operationRoutes(
  { engine, clock }: Services,
  { phase, openApi, docs, asyncApi, docsAsync, metricsToken }: OperationOptions,
): readonly Route[] {
  const metrics = sharedFor(API_LIMITS.metricsAgeMsMax, clock, () => engine.metrics())
  const live = () => answer(200, { status: 'live' }, UNCACHED)
  return [
    route(operations.livez, live),
    route(operations.healthz, live),
    route(operations.readyz, ({ query }) => {
      const body = readiness(engine, phase(), query.verbose !== undefined)
      return answer(body.status === 'ready' ? 200 : 503, body, UNCACHED)
    }),
    route(operations.metrics, async ({ header }) => {
      if (metricsToken !== undefined && !isBearer(header('authorization'), metricsToken))
        return refused('UNAUTHENTICATED', {
          message: 'metrics need the bearer token that the setting FLEET_METRICS_TOKEN has',
        })
      const type = 'text/plain; version=0.0.4; charset=utf-8'
      return answer(200, await metrics(), { 'content-type': type })
    }),
    route(operations.openapi, () =>
      answer(200, openApi(), { 'content-type': 'application/json; charset=utf-8' }),
    ),
    route(operations.asyncapi, () =>
      answer(200, asyncApi(), { 'content-type': 'application/json; charset=utf-8' }),
    ),
    route(operations.docsAsync, () => answer(200, docsAsync(), pageHeaders())),
    route(operations.docs, () => answer(200, docs(), docsHeaders())),
  ]
}

/** Compares digests, so that timing reveals nothing about the token. */
function isBearer(authorization: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(bearerOf(authorization) ?? ''), digest(token))
}

/** Rendering takes milliseconds, so requests within a short time share one text. */
function sharedFor(
  ageMsMax: number,
  clock: Services['clock'],
  render: () => Promise<string>,
): () => Promise<string> {
  let renderedAt = Number.NEGATIVE_INFINITY
  let rendered: Promise<string> = Promise.resolve('')
  return () => {
    const now = clock.ticks()
    if (now - renderedAt < ageMsMax) return rendered
    renderedAt = now
    rendered = render()
    // A failed rendering is not shared.
    rendered.catch(() => {
      renderedAt = Number.NEGATIVE_INFINITY
    })
    return rendered
  }
}

const UNCACHED = { 'cache-control': 'no-store' }

function readiness(engine: Services['engine'], { state, httpUrl }: Phase, verbose: boolean): Readiness {
  const dependencies = engine.health()
  const isHealthy = dependencies.every(({ ok }) => ok)
  const status = state === 'serving' ? (isHealthy ? 'ready' : 'degraded') : state
  if (!verbose) return { status }
  return {
    status,
    ...(httpUrl === undefined ? {} : { http_url: httpUrl }),
    mqtt_url: engine.mqttUrl(),
    dependencies: dependencies.map(({ name, ok, detail }) => ({ name, ok, detail })),
  }
}
