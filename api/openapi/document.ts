// Generates the OpenAPI document from the same data that the server uses for routing and validation.
import type { TSchema } from 'typebox'
import type { Json } from '../../schemas/json.ts'
import { API, type Operation, type Reply, TAGS } from '../../schemas/operation.ts'
import { Problem } from '../../schemas/problem.ts'
import { REFUSAL_CODES, REFUSALS, type RefusalCode } from '../../schemas/refusals.ts'
import type { Role } from '../../schemas/vocabulary.ts'
import { Components, type JsonSchema } from './components.ts'
import { exampleOf } from './example.ts'
import {
  headerParameters,
  headersOfRefusal,
  headersOfSuccess,
  RESPONSE_HEADERS,
  type ResponseHeader,
} from './headers.ts'
import { problemExample } from './problem-example.ts'
import { refusalsOf } from './refusals-of.ts'

export interface OpenApi {
  readonly openapi: '3.1.0'
  readonly info: Readonly<Record<'title' | 'version' | 'summary' | 'description', string>> & {
    readonly license: object
  }
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly responses: Readonly<Record<string, OpenApiResponse>>
    readonly headers: object
    readonly examples: Readonly<Record<string, object>>
    readonly securitySchemes: object
  }
  readonly [member: string]: unknown
}

export interface OpenApiOperation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security: readonly object[]
  readonly 'x-roles'?: readonly Role[]
  readonly 'x-scope'?: string
  readonly parameters?: readonly OpenApiParameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  /** Shared responses for refusals, which operations reference. */
  readonly responses: Readonly<Record<string, OpenApiResponse | { readonly $ref: string }>>
}

export interface OpenApiParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: unknown
  readonly schema: JsonSchema
  readonly example?: Json
}

export interface OpenApiResponse {
  readonly description: string
  readonly headers: Readonly<Record<string, object>>
  readonly content?: Content
}

type Content = Readonly<Record<string, MediaType>>
interface MediaType {
  readonly schema: JsonSchema
  readonly example?: Json
  readonly examples?: Readonly<Record<string, object>>
}

export function toOpenApi(operations: readonly Operation[], version: string): OpenApi {
  const components = new Components()
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const operation of operations) {
    const ofPath = paths[operation.path] ?? {}
    ofPath[operation.method.toLowerCase()] = toOperation(operation, components)
    paths[operation.path] = ofPath
  }
  const responses = refusalResponses(operations, components)
  const used = new Set(operations.map(({ tag }) => tag))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fleet',
      version,
      summary: 'Devices, telemetry, commands and shadows of large fleets',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that this document comes from' }],
    tags: Object.entries(TAGS)
      .filter(([name]) => [...used].some((tag) => tag === name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: components.sorted(),
      responses,
      headers: RESPONSE_HEADERS,
      examples: Object.fromEntries(REFUSAL_CODES.map((code) => [code, problemExample(code)])),
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

const DESCRIPTION = `Get a token from \`POST ${API}/auth/login\` and send it as \`Authorization: Bearer …\`; services use an API key in its place.

- **Problems**: what is no success is \`application/problem+json\` (RFC 9457) with a stable \`code\`; \`/problems\` tells what to do about each. A request that cannot be read as HTTP is answered with 400, 408 or 431 before anything is known of it.
- **Lists** come in pages, with \`page\` and \`per_page\`, and links to the others in \`Link\`; lists that only grow have a \`cursor\`.
- **Parameters and fields** of a body that an operation does not know are refused.
- **Times** are ISO 8601 in UTC with milliseconds.
- **Roles**: \`x-roles\` of an operation says who may call it, \`x-scope\` how groups narrow it for a user that is limited to groups.`

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: `The \`access_token\` of \`POST ${API}/auth/login\`, good for an hour.`,
  },
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'flk_…',
    description: `The \`api_key\` of \`POST ${API}/api-keys\`, for services.`,
  },
}
const TOKEN = [{ bearer: [] }, { apiKey: [] }]

function toOperation(operation: Operation, components: Components): OpenApiOperation {
  const { access, body, description } = operation
  const parameters = [
    ...toParameters(operation.params, 'path', components),
    ...toParameters(operation.query, 'query', components),
    ...headerParameters(operation).map(([name, header]) => ({
      name,
      in: 'header' as const,
      required: false,
      ...header,
    })),
  ]
  const open = operation.mayNeedToken === true ? [{}, ...TOKEN] : []
  return {
    operationId: operation.operationId,
    summary: operation.summary,
    ...(description === undefined ? {} : { description }),
    tags: [operation.tag],
    security: access === 'public' ? open : TOKEN,
    ...(access === 'public' ? {} : { 'x-roles': access, 'x-scope': operation.scope }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: toRequestBody(operation, body, components) }),
    responses: {
      ...toReplies(operation, components),
      ...Object.fromEntries(
        [...refusalsByStatus(operation)].map(([status, codes]) => [
          status,
          { $ref: `#/components/responses/${nameOf(codes)}` },
        ]),
      ),
    },
  }
}

function toRequestBody(operation: Operation, body: TSchema, components: Components) {
  const { bodyTypes, bodyOptional, jsonBody = body } = operation
  const types = bodyTypes ?? ['application/json']
  const medias = types.map((type, i) => {
    const sent = type === 'application/json' ? jsonBody : body
    return [type, { schema: components.reference(sent), example: exampleOf(sent, sent === body ? i : 0) }]
  })
  return { required: bodyOptional !== true, content: Object.fromEntries(medias) }
}

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  200: 'Success',
  201: 'Made',
  202: 'Accepted; it is done later',
  204: 'Done',
  206: 'The part that was asked for',
  304: 'Not modified',
  503: 'Not ready',
}

function toReplies(operation: Operation, components: Components): Record<string, OpenApiResponse> {
  return Object.fromEntries(
    Object.entries(operation.replies).map(([status, reply]) => {
      const description = DESCRIPTIONS[Number(status)] ?? 'Success'
      const headers = toHeaders(headersOfSuccess(operation, Number(status)))
      const content = contentOf(operation, reply, components)
      return [status, { description, headers, ...(content === undefined ? {} : { content }) }]
    }),
  )
}

function contentOf(
  { isPage, files = [] }: Operation,
  reply: Reply,
  components: Components,
): Content | undefined {
  if (reply === 'empty') return undefined
  const texts = Object.fromEntries(files.map((type) => [type, TEXT]))
  if (reply === 'bytes') return Object.fromEntries(files.map((type) => [type, BYTES]))
  if (reply === 'text' && isPage === true) return { 'text/html': TEXT }
  if (reply === 'text') return files.length > 0 ? texts : { 'text/plain': TEXT }
  return {
    'application/json': { schema: components.reference(reply), example: exampleOf(reply) },
    ...(isPage === true ? { 'text/html': TEXT } : {}),
    ...texts,
  }
}

const BYTES = { schema: { type: 'string', format: 'binary' } }
const TEXT = { schema: { type: 'string' } }

function refusalsByStatus(operation: Operation): ReadonlyMap<number, readonly RefusalCode[]> {
  const byStatus = new Map<number, RefusalCode[]>()
  // In the order of the catalogue, so that equal sets of codes get the same name.
  const codes = refusalsOf(operation)
  for (const code of REFUSAL_CODES.filter((known) => codes.includes(known))) {
    const { status } = REFUSALS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return byStatus
}

const nameOf = (codes: readonly RefusalCode[]) => codes.join('.')

function refusalResponses(
  operations: readonly Operation[],
  components: Components,
): Readonly<Record<string, OpenApiResponse>> {
  const all = operations.flatMap((operation) => [...refusalsByStatus(operation).values()])
  return Object.fromEntries(all.map((codes) => [nameOf(codes), toRefusal(codes, components)]))
}

function toRefusal(codes: readonly RefusalCode[], components: Components): OpenApiResponse {
  const schema = {
    allOf: [components.reference(Problem), { properties: { code: { enum: codes } } }],
  }
  const examples = Object.fromEntries(
    codes.map((code) => [code, { $ref: `#/components/examples/${code}` }] as const),
  )
  return {
    description: codes.map((code) => `\`${code}\`: ${REFUSALS[code].title}`).join('; '),
    headers: toHeaders(headersOfRefusal(codes)),
    content: { 'application/problem+json': { schema, examples } },
  }
}

function toHeaders(sent: readonly { readonly name: ResponseHeader }[]): Record<string, object> {
  return Object.fromEntries(sent.map(({ name }) => [name, { $ref: `#/components/headers/${name}` }]))
}

function toParameters(
  schema: TSchema | undefined,
  place: 'path' | 'query',
  components: Components,
): readonly OpenApiParameter[] {
  if (schema === undefined) return []
  // The parameters of an operation are always one object schema.
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
      schema: components.inlined(rest),
    }
  })
}
