// Generates valid and invalid requests for an operation, as fast-check arbitraries.

import fc, { type Arbitrary } from 'fast-check'
import type { Operation } from '../../../schemas/operation.ts'
import { OPERATIONS } from '../../../schemas/operations/all.ts'
import type { RefusalCode } from '../../../schemas/refusals.ts'
import { allowedMethods } from '../../http/route-match.ts'
import { checkOf } from '../../http/validation.ts'
import { MULTIPART, multipart } from '../../testing/multipart.ts'
import { type JsonSchema, type KnownValues, ODD, valuesOf } from './valid-values.ts'

export interface TriedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly hasToken: boolean
}

export interface WrongRequest extends TriedRequest {
  readonly what: string
  /** The codes that the request may be refused with. */
  readonly codes: readonly RefusalCode[]
}

interface Parts {
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

// All schemas are JSON schemas with these keywords.
const asSchema = (schema: unknown) => schema as JsonSchema

export function validRequests(operation: Operation, known: KnownValues): Arbitrary<TriedRequest> {
  return partsOf(operation, known).map((parts) => toRequest(operation, parts))
}

/** Generates requests with every kind of error that is possible for this operation. */
export function wrongRequests(operation: Operation, known: KnownValues): Arbitrary<WrongRequest> {
  const { params, query, body, path, access } = operation
  // Existing ids, so that the error is the only reason for a refusal.
  const right = partsOf(operation, known, true).map((parts) => ({
    ...parts,
    query: needs(query, 'metric') ? { metric: 'm' } : {},
  }))
  const wrong = [
    ...(path.startsWith('/api/') ? [unknownParameters(operation, right)] : []),
    ...(query !== undefined && path.startsWith('/api/') ? [wrongQueries(operation, right)] : []),
    ...(params !== undefined ? [wrongPaths(operation, right)] : []),
    ...(body !== undefined && operation.streamsBody !== true ? [wrongBodies(operation, right)] : []),
    ...(operation.method === 'GET' || operation.streamsBody === true
      ? []
      : [unreadableBodies(operation, right)]),
    ...(operation.method === 'GET' ? [] : [otherTypes(operation, right)]),
    ...(access === 'public' ? [] : [strangers(operation, right)]),
    ...(operation.ownPagesOnly === true ? [otherPages(operation, right)] : []),
    ...(operation.repeats === undefined ? [] : [wrongKeys(operation, right)]),
    ...otherMethods(operation, right),
  ]
  return fc.oneof(...wrong)
}

function partsOf(operation: Operation, known: KnownValues, isPlain = false): Arbitrary<Parts> {
  const { params, query, body, bodyOptional, bodyTypes } = operation
  const none = fc.constant({})
  const pathValues = fc.record(
    Object.fromEntries(
      Object.keys(asSchema(params ?? {}).properties ?? {}).map((name) => [
        name,
        pathValue(known[name] ?? ['x'], isPlain),
      ]),
    ),
  )
  const values =
    body === undefined
      ? fc.constant(undefined)
      : bodyOptional === true
        ? fc.option(valuesOf(asSchema(body), known), { nil: undefined })
        : valuesOf(asSchema(body), known)
  return fc.record({
    params: params === undefined ? none : pathValues,
    // Each property is a parameter. Arrays are repeated parameters.
    query:
      query === undefined ? none : (valuesOf(asSchema(query), known) as Arbitrary<Record<string, unknown>>),
    body: values,
    headers: (isPlain ? none : oddHeaders()).map((headers) => ({
      ...headers,
      ...(body === undefined ? {} : { 'content-type': bodyTypes?.[0] ?? 'application/json' }),
      ...(operation.isUpload === true ? MULTIPART : {}),
    })),
  })
}

/** Mostly existing ids, and sometimes any text that a path can hold. */
function pathValue(existing: readonly unknown[], isPlain: boolean): Arbitrary<unknown> {
  const there = fc.constantFrom(...existing)
  if (isPlain) return there
  const odd = fc.oneof(fc.string({ minLength: 1, maxLength: 80, unit: 'binary' }), fc.constantFrom(...ODD))
  return fc.oneof(
    { weight: 4, arbitrary: there },
    // No segment consists only of dots, because clients would remove it.
    { weight: 1, arbitrary: odd.filter((text) => !/^\.{1,2}$|\p{Surrogate}/u.test(text)) },
  )
}

function oddHeaders(): Arbitrary<Record<string, string>> {
  const text = fc.stringMatching(/^[!-~]{1,20}$/)
  const tag = fc.oneof(text, fc.constantFrom('*', '"0"', '"1"', 'W/"1"', '"1-x", "2"', '""', ','))
  return fc.record(
    {
      'if-match': tag,
      'if-none-match': tag,
      prefer: fc.oneof(text, fc.constantFrom('wait=1', 'respond-async, wait=0', 'wait="5"', 'wait=-1')),
      'idempotency-key': text,
      'x-request-id': fc.oneof(text, fc.constantFrom('a b', '', 'x'.repeat(200))),
      accept: fc.constantFrom('*/*', 'application/json', 'text/html', 'text/csv', 'nothing', ''),
      'x-forwarded-for': fc.constantFrom('1.2.3.4', '::1, 10.0.0.1', "' OR 1=1"),
    },
    { requiredKeys: [] },
  )
}

function toRequest(operation: Operation, { params, query, body, headers }: Parts): TriedRequest {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(params[name])))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one))
  const text = search.size === 0 ? '' : `?${search}`
  return {
    method: operation.method,
    url: `${path}${text}`,
    headers: {
      ...(body === undefined ? without(headers, 'content-type') : headers),
      ...ownPage(operation),
    },
    body: body === undefined ? undefined : textOf(operation, body),
    hasToken: true,
  }
}

function textOf({ isUpload, streamsBody }: Operation, body: unknown): string {
  if (isUpload !== true) return streamsBody === true ? String(body) : JSON.stringify(body)
  const parts = Object.entries(Object(body)).map(([name, value]) => ({ name, value: String(value) }))
  return multipart(parts).toString()
}

function without(headers: Parts['headers'], name: string): Record<string, string> {
  const { [name]: _, ...rest } = headers
  return rest
}

const needs = (schema: unknown, name: string) => asSchema(schema ?? {}).required?.includes(name) === true

const junk = () =>
  fc.oneof(
    fc.string({ maxLength: 30 }),
    fc.constantFrom(...ODD),
    fc.integer().map(String),
    fc.constant('x'.repeat(5_000)),
  )

function unknownParameters(operation: Operation, right: Arbitrary<Parts>): Arbitrary<WrongRequest> {
  const names = Object.keys(asSchema(operation.query ?? {}).properties ?? {})
  const name = fc
    .oneof(
      fc.stringMatching(/^[a-z_]{1,12}$/),
      fc.constantFrom('__proto__', 'constructor', 'per-page', 'page[]'),
    )
    .filter((text) => !names.includes(text))
  return fc.tuple(right, name, junk()).map(([parts, unknown, value]) => ({
    ...toRequest(operation, {
      ...parts,
      query: { ...parts.query, [unknown === '__proto__' ? '__proto__ ' : unknown]: value },
    }),
    what: 'an unknown parameter',
    codes: ['VALIDATION_FAILED'],
  }))
}

function wrongQueries(operation: Operation, right: Arbitrary<Parts>): Arbitrary<WrongRequest> {
  const { query = {} } = operation
  const check = checkOf(query, 'query')
  const names = Object.keys(asSchema(query).properties ?? {})
  const values = fc.oneof(junk(), fc.array(junk(), { minLength: 2, maxLength: 3 }), fc.constant(''))
  return fc
    .tuple(right, fc.constantFrom(...names), values)
    .map(([parts, name, value]) => ({ ...parts, query: { ...parts.query, [name]: value } }))
    .filter((parts) => check(structuredClone(parts.query), 0) !== undefined)
    .map((parts) => ({ ...toRequest(operation, parts), what: 'a wrong query', codes: ['VALIDATION_FAILED'] }))
}

function wrongPaths(operation: Operation, right: Arbitrary<Parts>): Arbitrary<WrongRequest> {
  const wrong = fc.constantFrom('%', '%zz', '%ff', '%c0%af', `${'x'.repeat(1_100)}`)
  return fc.tuple(right, wrong).map(([parts, text]) => {
    const mark = 'the-parameter'
    const params = Object.fromEntries(Object.keys(parts.params).map((name) => [name, mark]))
    const request = toRequest(operation, { ...parts, params })
    return {
      ...request,
      url: request.url.replaceAll(mark, text),
      what: 'a path that cannot be read',
      codes: ['BAD_REQUEST', 'NOT_FOUND'],
    }
  })
}

function wrongBodies(operation: Operation, right: Arbitrary<Parts>): Arbitrary<WrongRequest> {
  const { body = {} } = operation
  const check = checkOf(body, 'body')
  const names = Object.keys(asSchema(body).properties ?? {})
  const wrong = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    junk().map((text) => [text]),
    junk(),
    fc.constantFrom(null, -1, 1.5, true, {}, [], ''),
  )
  const field = names.length === 0 ? fc.constant(undefined) : fc.constantFrom(...names, undefined)
  return fc
    .tuple(right, field, fc.oneof(wrong, fc.constant(undefined)))
    .map(([parts, name, value]) => ({
      ...parts,
      // Undefined leaves the field out.
      body: name === undefined ? value : { ...Object(parts.body), [name]: value },
      headers: { 'content-type': 'application/json' },
    }))
    .filter(
      (parts) => parts.body !== undefined && check(JSON.parse(JSON.stringify(parts.body)), 0) !== undefined,
    )
    .map((parts) => ({
      ...toRequest(operation, parts),
      what: 'a wrong body',
      codes: ['VALIDATION_FAILED', 'UNKNOWN_FIELD', 'IMMUTABLE_FIELD'],
    }))
}

function unreadableBodies(operation: Operation, right: Arbitrary<Parts>): Arbitrary<WrongRequest> {
  const depth = fc.integer({ min: 33, max: 3_000 })
  const deep = fc.oneof(
    depth.map((levels) => '['.repeat(levels) + ']'.repeat(levels)),
    depth.map((levels) => `{"a":${'{"a":'.repeat(levels)}1${'}'.repeat(levels + 1)}`),
    depth.map((levels) => '{"data":['.repeat(levels)),
  )
  const broken = fc.oneof(
    fc.jsonValue().map((value) => `${JSON.stringify({ value })}}`),
    fc.jsonValue().map((value) => JSON.stringify({ value }).slice(0, -1)),
    fc.constantFrom(
      '{"__proto__":{"admin":true}}',
      '{"a":{"\\u005f_proto__":1}}',
      '{"constructor":{"prototype":{"admin":true}}}',
      '{"a":1e999}',
      "{'a':1}",
      'undefined',
    ),
  )
  const one = (body: Arbitrary<string>, what: string, code: RefusalCode): Arbitrary<WrongRequest> =>
    fc.tuple(right, body).map(([parts, text]) => ({
      ...toRequest(operation, parts),
      headers: { ...ownPage(operation), 'content-type': 'application/json' },
      body: text,
      what,
      codes: [code],
    }))
  return fc.oneof(
    one(deep, 'a body that is nested too deeply', 'VALIDATION_FAILED'),
    one(broken, 'a body that cannot be read', 'BAD_REQUEST'),
  )
}

function otherTypes(operation: Operation, right: Arbitrary<Parts>): Arbitrary<WrongRequest> {
  const type = fc.constantFrom(
    'text/plain',
    'application/xml',
    ...(operation.isUpload === true ? [] : ['multipart/form-data; boundary=x']),
    'json',
    'a/b',
  )
  return fc.tuple(right, type).map(([parts, other]) => ({
    ...toRequest(operation, parts),
    headers: { ...ownPage(operation), 'content-type': other },
    body: '{}',
    what: 'a body of another type',
    codes: ['UNSUPPORTED_MEDIA_TYPE'],
  }))
}

function strangers(operation: Operation, right: Arbitrary<Parts>): Arbitrary<WrongRequest> {
  const authorization = fc.oneof(
    fc.constantFrom('', 'Bearer', 'Bearer ', 'Basic YTpi', 'Bearer a.b.c', 'Bearer flk_x_y', 'Bearer null'),
    fc.stringMatching(/^[!-~]{1,60}$/).map((text) => `Bearer ${text}`),
    fc.constant(undefined),
  )
  return fc.tuple(right, authorization).map(([parts, text]) => {
    const request = toRequest(operation, parts)
    const headers = text === undefined ? request.headers : { ...request.headers, authorization: text }
    return { ...request, headers, hasToken: false, what: 'no good token', codes: ['UNAUTHENTICATED'] }
  })
}

const ownPage = ({ ownPagesOnly }: Operation): Readonly<Record<string, string>> =>
  ownPagesOnly === true ? { 'sec-fetch-site': 'same-origin' } : {}

function otherPages(operation: Operation, right: Arbitrary<Parts>): Arbitrary<WrongRequest> {
  const marks = fc.constantFrom<Readonly<Record<string, string>>>(
    {},
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  )
  return fc.tuple(right, marks).map(([parts, marked]) => {
    const request = toRequest(operation, parts)
    const headers = { ...without(request.headers, 'sec-fetch-site'), ...marked }
    return { ...request, headers, what: 'a page of another service', codes: ['FORBIDDEN'] }
  })
}

function wrongKeys(operation: Operation, right: Arbitrary<Parts>): Arbitrary<WrongRequest> {
  const key = fc.constantFrom('a b', '', 'x'.repeat(129), 'é', '\t')
  return fc.tuple(right, key).map(([parts, text]) => {
    const request = toRequest(operation, parts)
    const headers = { ...request.headers, 'idempotency-key': text }
    const codes = ['BAD_REQUEST', 'VALIDATION_FAILED', 'NOT_FOUND'] as const
    return { ...request, headers, what: 'a key that cannot be read', codes }
  })
}

function otherMethods(operation: Operation, right: Arbitrary<Parts>): readonly Arbitrary<WrongRequest>[] {
  const { url } = toRequest(operation, EXAMPLE)
  const known = allowedMethods(Object.values(OPERATIONS), url)
  const others = METHODS.filter((method) => !known.includes(method))
  return others.length === 0
    ? []
    : [
        fc.tuple(right, fc.constantFrom(...others)).map(([parts, method]) => ({
          ...toRequest(operation, parts),
          method,
          what: 'another method',
          codes: ['METHOD_NOT_ALLOWED'],
        })),
      ]
}

const EXAMPLE: Parts = { params: {}, query: {}, body: undefined, headers: {} }
