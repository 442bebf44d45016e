// The document is complete, valid, and equal to the committed one. After a change of operations or schemas:
//   npx vitest run --project integration api/openapi/document.test.ts -u
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { API } from '../../schemas/operation.ts'
import { OPERATIONS } from '../../schemas/operations/all.ts'
import { REFUSALS } from '../../schemas/refusals.ts'
import { openHarness } from '../testing/rest.ts'
import { type OpenApiOperation, type OpenApiResponse, toOpenApi } from './document.ts'
import { refusalsOf } from './refusals-of.ts'
import { OPENAPI_SCHEMA } from './testing/openapi-schema.ts'

const ROOT = new URL('../../', import.meta.url)
// npm defines this format.
const { version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as { version: string }
const document = toOpenApi(Object.values(OPERATIONS), version)
const found = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(
    ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
  ),
)

test('the committed document is the generated one', async () => {
  await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot('../../schemas/openapi.json')
})

test('the service gives the document to anyone', async () => {
  const { request } = openHarness()
  const { body } = await request('GET /api/v1/openapi.json')
  expect(body).toEqual({ ...document, info: { ...document.info, version: '0.0.0-test' } })
})

describe('as OpenAPI 3.1', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })

  test('the document has the form that the specification requires', () => {
    expect(ajv.validate(OPENAPI_SCHEMA, document), JSON.stringify(ajv.errors, null, 1)).toBe(true)
  })

  test('all schemas are JSON Schema 2020-12', () => {
    const { schemas, ...others } = document.components
    for (const schema of [...Object.values(schemas), ...schemasOf([document.paths, others])])
      expect(ajv.validateSchema(schema), JSON.stringify([schema, ajv.errors])).toBe(true)
  })

  test('every reference has a target', () => {
    const text = JSON.stringify(document)
    for (const [, pointer = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const target = pointer.split('/').reduce<unknown>((at, key) => Object(at)[key], document)
      expect(target, pointer).toBeDefined()
    }
    const tags = (document['tags'] as { name: string }[]).map(({ name }) => name)
    expect(new Set(found.flatMap(([, { tags: used }]) => used))).toEqual(new Set(tags))
  })

  test.each(found)('%s names the parameters of its path, and no parameter twice', (line, operation) => {
    const names = (operation.parameters ?? []).map((parameter) => `${parameter.in} ${parameter.name}`)
    expect(new Set(names).size).toBe(names.length)
    const inPath = [...line.matchAll(/\{(\w+)\}/g)].map(([, name]) => `path ${name}`)
    expect(names.filter((name) => name.startsWith('path ')).sort()).toEqual(inPath.sort())
  })
})

describe('the document describes', () => {
  const operations = Object.values(OPERATIONS)

  test('registerDevice everything a client needs', () => {
    const registerDevice = document.paths[`${API}/devices`]?.['post']
    expect(registerDevice).toMatchObject({
      operationId: 'registerDevice',
      security: [{ bearer: [] }, { apiKey: [] }],
      'x-roles': ['admin'],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/RegisterDeviceBody' } } },
      },
    })
    const headerOf = (name: string) => ({ $ref: `#/components/headers/${name}` })
    const responseOf = (status: string) => resolved(registerDevice?.responses[status])
    expect(responseOf('201').headers).toMatchObject({
      Location: headerOf('Location'),
      ETag: headerOf('ETag'),
      'Idempotency-Replayed': headerOf('Idempotency-Replayed'),
    })
    expect(responseOf('429').headers).toHaveProperty('Retry-After')
    expect(responseOf('401').headers).toHaveProperty('WWW-Authenticate')
  })

  // Defaults would be filled into the body, and change fields that a merge patch leaves out.
  test.each(
    operations
      .filter(({ method }) => method === 'PATCH')
      .map((operation) => [operation.operationId, operation]),
  )('%s without defaults for what is left out', (_, operation) => {
    const { properties = {} } = Object('body' in operation ? operation.body : {})
    const withDefault = Object.entries<object>(properties).filter(([, schema]) => 'default' in schema)
    expect(withDefault.map(([name]) => name)).toEqual([])
  })

  test('every operation once', () => {
    const ids = found.map(([, { operationId }]) => operationId)
    expect(ids.sort()).toEqual(Object.keys(OPERATIONS).sort())
  })

  test.each(operations.map((operation) => [operation.operationId, operation] as const))(
    '%s each refusal, with an example',
    (_, operation) => {
      const { responses } = document.paths[operation.path]?.[operation.method.toLowerCase()] ?? never()
      for (const code of refusalsOf(operation)) {
        const content = resolved(responses[REFUSALS[code].status]).content?.['application/problem+json']
        expect(content?.examples, code).toHaveProperty(code)
        expect(JSON.stringify(content?.schema), code).toContain(`"${code}"`)
      }
    },
  )
})

describe('examples of the document', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  // The types declare a module, but the import is the function itself.
  ;(addFormats as unknown as (ajv: unknown) => void)(ajv)
  ajv.addSchema({ $id: 'doc', components: document.components })
  const misfit = (schema: object, value: unknown) =>
    ajv.validate(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"doc#/')), value)
      ? undefined
      : ajv.errorsText()

  test.each(found)('the examples of %s exist and match its schemas', (_, operation) => {
    for (const [type, { schema, example, examples }] of mediasOf(operation)) {
      if (type === 'application/json') expect(example).toBeDefined()
      if (example !== undefined) expect(misfit(schema, example)).toBeUndefined()
      for (const name of Object.keys(examples ?? {}))
        expect(misfit(schema, Object(document.components.examples[name]).value), name).toBeUndefined()
    }
  })

  test.each(Object.entries(document.components.schemas))(
    'the examples of the schema %s match it',
    (_, schema) => {
      for (const part of [schema, ...schemasOf(schema)])
        for (const example of Array.isArray(part['examples']) ? part['examples'] : [])
          expect(misfit(part, example), JSON.stringify(part)).toBeUndefined()
    },
  )
})

function mediasOf({ requestBody, responses }: OpenApiOperation) {
  const contents = [
    requestBody?.content,
    ...Object.values(responses).map((response) => resolved(response).content),
  ]
  return contents.flatMap((content) => Object.entries(content ?? {}))
}

function resolved(response: OpenApiResponse | { readonly $ref: string } | undefined): OpenApiResponse {
  if (response === undefined) return never()
  if (!('$ref' in response)) return response
  return document.components.responses[response.$ref.slice('#/components/responses/'.length)] ?? never()
}

/** Every schema below this one, at any depth. */
function schemasOf(value: unknown): readonly Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === 'example' || key === 'examples') return []
    const below = schemasOf(inner)
    if (key === 'schema' || key === 'items') return [Object(inner), ...below]
    if (key === 'properties') return [...Object.values(Object(inner)).map(Object), ...below]
    if (key === 'anyOf' || key === 'allOf') return [...Object(inner), ...below]
    return below
  })
}

function never(): never {
  throw new Error('the document lacks it')
}
