// Checks answers against what their operations declare: status, body and headers.
import { Ajv, type ValidateFunction } from 'ajv'
import { expect } from 'vitest'
import type { Operation, Reply } from '../../schemas/operation.ts'
import { Problem } from '../../schemas/problem.ts'
import { REFUSALS } from '../../schemas/refusals.ts'
import { plainUrl } from '../http/route-match.ts'
import { headersOfRefusal, headersOfSuccess, RESPONSE_HEADERS } from '../openapi/headers.ts'
import { refusalsOf } from '../openapi/refusals-of.ts'

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  /** Parsed, if it is JSON. */
  readonly body: unknown
  readonly text: string
}

// Each schema is compiled once per worker, because compiling takes longer than most tests.
const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
const problem = ajv.compile(Problem)
const compiled = new Map<Reply, ValidateFunction>()

/** Fails a test whose answer is not what the operations, and therefore the OpenAPI document, declare. */
export function createConformance(operations: readonly Operation[]) {
  return (method: string, url: string, answer: HttpAnswer): void => {
    const { status, headers, body, text } = answer
    const line = `${method} ${url} → ${status}`
    expect(headers['x-request-id'], line).toMatch(/^[\w.:/+=@-]+$/)
    expect(headers['x-content-type-options']).toBe('nosniff')
    const operation = operationOf(operations, method, plainUrl(url))
    const reply = operation?.replies[status]
    if (status >= 400 && reply === undefined) {
      expect(headers['content-type'], line).toBe('application/problem+json; charset=utf-8')
      if (method === 'HEAD') return
      if (!problem(body)) expect.fail(`${line}: ${text}: ${JSON.stringify(problem.errors)}`)
      // Validated as a problem on the line above.
      const { code } = body as Problem
      expect(REFUSALS[code].status, line).toBe(status)
      if (operation === undefined || status === 500) return
      const codes = refusalsOf(operation)
      if (!codes.includes(code)) expect.fail(`${line}: ${code} is not declared: ${text}`)
      checkHeaders(line, headers, headersOfRefusal([code]))
      return
    }
    if (method === 'HEAD' || method === 'OPTIONS') return
    if (operation === undefined || reply === undefined) expect.fail(`${line} is not declared`)
    checkHeaders(line, headers, headersOfSuccess(operation, status))
    if (reply === 'empty') expect(text, line).toBe('')
    else if (reply !== 'text' && reply !== 'bytes' && !isOther(operation, headers)) check(line, reply, answer)
  }
}

function check(line: string, reply: Reply, { body, text }: HttpAnswer): void {
  const fits = compiled.get(reply) ?? ajv.compile(Object(closed(reply)))
  compiled.set(reply, fits)
  if (!fits(body)) expect.fail(`${line}: ${text}: ${JSON.stringify(fits.errors)}`)
}

/** An answer must have exactly those documented headers that its operation declares. */
function checkHeaders(
  line: string,
  headers: HttpAnswer['headers'],
  sent: readonly { readonly name: string; readonly isAlways: boolean }[],
): void {
  for (const name of Object.keys(RESPONSE_HEADERS)) {
    const promised = sent.find((header) => header.name === name)
    const isThere = headers[name.toLowerCase()] !== undefined
    if (isThere && promised === undefined) expect.fail(`${line}: ${name} is not declared`)
    if (!isThere && promised?.isAlways === true) expect.fail(`${line}: ${name} is missing`)
  }
}

/** Refuses undeclared fields, however harmless: the next one might be a secret. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key === 'examples' ? value : closed(value)]),
  )
  return 'properties' in schema ? { additionalProperties: false, ...inner } : inner
}

export function operationOf(
  operations: readonly Operation[],
  method: string,
  url: string,
): Operation | undefined {
  const fitting = operations.filter((route) => route.method === method && isPath(route.path, url))
  // Paths without parameters take precedence, as in the server.
  return fitting.find(({ path }) => path === url.split('?')[0]) ?? fitting[0]
}

function isPath(pattern: string, url: string): boolean {
  const levels = (url.split('?')[0] ?? '').replace('%24', '$').split('/')
  const wanted = pattern.split('/')
  return (
    wanted.length === levels.length &&
    wanted.every((level, i) => level.startsWith('{') || level === levels[i])
  )
}

/** Whether the answer is a page or a file instead of JSON. */
function isOther({ isPage, files = [] }: Operation, headers: HttpAnswer['headers']): boolean {
  const type = String(headers['content-type']).replace(/;.*/, '')
  return files.includes(type) || (isPage === true && type === 'text/html')
}
