// A JSON schema of OpenAPI 3.1, as far as the document of this service uses it, written from the tables of the
// specification. It allows no unknown members, so that misspelt or misplaced ones are found.

const text = { type: 'string', minLength: 1 }
const ref = (of: string) => ({ $ref: `#/$defs/${of}` })
const map = (of: object) => ({ type: 'object', additionalProperties: of })
const record = (required: readonly string[], properties: object) => ({
  type: 'object',
  required,
  properties,
  additionalProperties: false,
})
const reference = (to: string) =>
  record(['$ref'], { $ref: { type: 'string', pattern: `^#/components/${to}/[\\w.-]+$` } })

export const OPENAPI_SCHEMA = {
  ...record(['openapi', 'info', 'paths', 'components'], {
    openapi: { const: '3.1.0' },
    info: record(['title', 'version'], {
      title: text,
      version: text,
      summary: text,
      description: text,
      license: record(['name', 'identifier'], { name: text, identifier: text }),
    }),
    servers: { type: 'array', minItems: 1, items: record(['url'], { url: text, description: text }) },
    tags: {
      type: 'array',
      uniqueItems: true,
      items: record(['name', 'description'], { name: text, description: text }),
    },
    paths: {
      type: 'object',
      patternProperties: { '^/': ref('path') },
      additionalProperties: false,
    },
    components: record(['schemas'], {
      schemas: { ...map(ref('schema')), propertyNames: { pattern: '^[\\w.-]+$' } },
      responses: map(ref('response')),
      headers: map(ref('header')),
      examples: map(ref('example')),
      securitySchemes: map(
        record(['type', 'scheme'], {
          type: { const: 'http' },
          scheme: { const: 'bearer' },
          bearerFormat: text,
          description: text,
        }),
      ),
    }),
  }),
  $defs: {
    // The content is checked by the meta-schema of JSON Schema.
    schema: { type: ['object', 'boolean'] },
    path: {
      type: 'object',
      patternProperties: { '^(get|put|post|delete|patch)$': ref('operation') },
      additionalProperties: false,
    },
    operation: record(['operationId', 'summary', 'tags', 'security', 'responses'], {
      operationId: { type: 'string', pattern: '^[a-z][A-Za-z]+$' },
      summary: text,
      description: text,
      tags: { type: 'array', minItems: 1, items: text },
      security: { type: 'array', items: map({ type: 'array', items: text }) },
      'x-roles': { type: 'array', minItems: 1, items: { enum: ['admin', 'operator', 'viewer'] } },
      'x-scope': { enum: ['none', 'self', 'device', 'list', 'target'] },
      parameters: { type: 'array', items: ref('parameter') },
      requestBody: record(['content'], { required: { type: 'boolean' }, content: ref('content') }),
      responses: {
        type: 'object',
        minProperties: 1,
        patternProperties: { '^[1-5]\\d\\d$': { anyOf: [reference('responses'), ref('response')] } },
        additionalProperties: false,
      },
    }),
    parameter: record(['name', 'in', 'schema'], {
      name: text,
      in: { enum: ['path', 'query', 'header'] },
      required: { type: 'boolean' },
      description: text,
      schema: ref('schema'),
    }),
    response: record(['description'], {
      description: text,
      headers: map(reference('headers')),
      content: ref('content'),
    }),
    content: {
      ...map(
        record(['schema'], { schema: ref('schema'), example: true, examples: map(reference('examples')) }),
      ),
      propertyNames: { pattern: '^[a-z]+/[a-z0-9.+-]+$' },
      minProperties: 1,
    },
    header: record(['schema'], { description: text, schema: ref('schema') }),
    example: record(['value'], { summary: text, value: true }),
  },
}
