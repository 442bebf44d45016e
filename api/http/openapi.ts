// The OpenAPI document, written from the same data that the server routes and validates by.
import type { TSchema } from 'typebox'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { API, type Operation } from '../../schemas/operation.ts'
import { Problem } from '../../schemas/problem.ts'
import { REFUSALS, type RefusalCode } from '../../schemas/refusals.ts'

type JsonSchema = Readonly<Record<string, unknown>>

export function toOpenApi(routes: readonly Operation[], version: string): Record<string, unknown> {
  const components = new Map<string, JsonSchema>()
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const operations = paths[route.path] ?? {}
    operations[route.method.toLowerCase()] = toOperation(route, components)
    paths[route.path] = operations
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fleet',
      version,
      description: 'Device management for large fleets: devices, telemetry, commands, shadows, updates.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    },
  }
}

/** Every refusal a route may answer with: those it names, and those its shape brings along. */
export function refusalsOf(route: Operation): readonly RefusalCode[] {
  const codes = new Set<RefusalCode>(route.refusals ?? [])
  if (route.access !== 'public') {
    codes.add('UNAUTHENTICATED').add('TOKEN_EXPIRED').add('DEPENDENCY_UNAVAILABLE')
    if (route.access.length < 3) codes.add('FORBIDDEN')
  }
  if (route.repeats !== undefined)
    codes.add('BAD_REQUEST').add('IDEMPOTENCY_KEY_REUSED').add('IDEMPOTENCY_KEY_IN_USE')
  if (route.scope === 'device') codes.add('NOT_FOUND')
  codes.add('RATE_LIMIT_EXCEEDED')
  // Parameters that are not known; probes are lenient.
  if (route.query !== undefined || route.path.startsWith(API)) codes.add('VALIDATION_FAILED')
  // A parameter that cannot be decoded.
  if (route.params !== undefined) codes.add('BAD_REQUEST')
  if (route.body !== undefined)
    codes
      .add('VALIDATION_FAILED')
      .add('BAD_REQUEST')
      .add('PAYLOAD_TOO_LARGE')
      .add('UNSUPPORTED_MEDIA_TYPE')
      .add('DEPENDENCY_UNAVAILABLE')
  return [...codes]
}

function toOperation(route: Operation, components: Map<string, JsonSchema>): Record<string, unknown> {
  const parameters = [
    ...toParameters(route.params, 'path', components),
    ...toParameters(route.query, 'query', components),
    ...(route.repeats !== undefined ? [IDEMPOTENCY_KEY] : []),
  ]
  const roles = route.access === 'public' ? undefined : route.access
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: [route.tag],
    security: roles === undefined ? [] : [{ bearer: [] }],
    ...(roles === undefined ? {} : { 'x-roles': roles, 'x-scope': route.scope }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: toRequestBody(route, route.body, components) }),
    responses: { ...toReplies(route, components), ...toRefusals(route, components) },
  }
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes sending the request again safe for 24 hours: the same key, body and user get the same answer. Use a random one, such as a UUID.',
  schema: { type: 'string', minLength: 1, maxLength: BODY_LIMITS.idempotencyKeyCharsMax },
}

function toRequestBody(
  { bodyTypes, bodyOptional }: Operation,
  body: TSchema,
  components: Map<string, JsonSchema>,
) {
  const schema = reference(body, components)
  const types = bodyTypes ?? ['application/json']
  return {
    required: bodyOptional !== true,
    content: Object.fromEntries(types.map((type) => [type, { schema }])),
  }
}

function toReplies(
  { replies, isPage, files = [] }: Operation,
  components: Map<string, JsonSchema>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(replies).map(([status, reply]) => {
      const description = status === '304' ? 'Not modified' : status === '204' ? 'Done' : 'Success'
      if (reply === 'empty') return [status, { description }]
      const content =
        reply === 'text'
          ? Object.fromEntries((files.length > 0 ? files : ['text/plain']).map(asText))
          : {
              'application/json': { schema: reference(reply, components) },
              ...(isPage === true ? { 'text/html': { schema: { type: 'string' } } } : {}),
              ...Object.fromEntries(files.map(asText)),
            }
      return [status, { description, content }]
    }),
  )
}

const asText = (type: string) => [type, { schema: { type: 'string' } }] as const

function toRefusals(route: Operation, components: Map<string, JsonSchema>): Record<string, unknown> {
  const byStatus = new Map<number, RefusalCode[]>()
  for (const code of refusalsOf(route)) {
    const { status } = REFUSALS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const schema = reference(Problem, components)
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      { description: codes.join(', '), content: { 'application/problem+json': { schema } } },
    ]),
  )
}

function toParameters(
  schema: TSchema | undefined,
  place: 'path' | 'query',
  components: Map<string, JsonSchema>,
) {
  if (schema === undefined) return []
  // Parameters are always given as one object schema.
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property as JsonSchema
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: inlined(rest, components),
    }
  })
}

/** A schema with a title is a component, written once and pointed at. */
function reference(schema: TSchema | JsonSchema, components: Map<string, JsonSchema>): unknown {
  const { title } = schema as { title?: unknown }
  if (typeof title !== 'string') return inlined(schema as JsonSchema, components)
  if (!components.has(title)) {
    // Set before it is filled: a component may point at itself.
    components.set(title, {})
    components.set(title, inlined(schema as JsonSchema, components))
  }
  return { $ref: `#/components/schemas/${title}` }
}

function inlined(schema: JsonSchema, components: Map<string, JsonSchema>): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, walked(key, value, components)]),
  )
}

/** Only these keywords hold schemas; anything else is copied as it is. */
function walked(key: string, value: unknown, components: Map<string, JsonSchema>): unknown {
  // By the keyword, the value is a schema, a list of schemas, or a table of schemas.
  if (key === 'items' || key === 'additionalProperties')
    return typeof value === 'object' ? reference(value as JsonSchema, components) : value
  if (key === 'anyOf' || key === 'allOf' || key === 'oneOf')
    return (value as readonly JsonSchema[]).map((schema) => reference(schema, components))
  if (key === 'properties')
    return Object.fromEntries(
      Object.entries(value as Record<string, JsonSchema>).map(([name, schema]) => [
        name,
        reference(schema, components),
      ]),
    )
  return value
}
