// Wherever a request has a time, `now` and an age such as `-15m` are accepted.
import { expect, test } from 'vitest'
import { RELATIVE_PATTERN } from '../../schemas/instant-text.ts'
import type { Operation } from '../../schemas/operation.ts'
import { OPERATIONS } from '../../schemas/operations/all.ts'
import { openWorld } from './testing/world.ts'

interface Schema {
  readonly format?: string
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

const operations: readonly Operation[] = Object.values(OPERATIONS)
const CONDITION = { kind: 'threshold', metric: 'm', op: '>', value: 0 }
const SILENCE = { matchers: { device_id: 'r' }, comment: 'x' }
/** The other parameters that each operation needs. The time itself is in the query or in the body. */
const MORE: Readonly<Record<string, object>> = {
  getFleetTelemetry: { metric: 'm' },
  getTelemetryHistory: { metric: 'm' },
  createApiKey: { name: 'ci', role: 'viewer' },
  createProvisioningKey: { type: 'mqtt_device', limit: 5 },
  createDeployment: { firmware_id: 'fw_1', target: { type: 'all' } },
  testAlertRule: { rule: { name: 'x', target: { type: 'all' }, condition: CONDITION }, from: '-1h' },
  createSilence: { ...SILENCE, starts_at: '-2h', ends_at: '2026-04-01T00:00:00Z' },
  bulkAlerts: { action: 'snooze', alert_ids: ['$alert_id'] },
  editSilence: {},
}
/** Times that must be in the future. An age is parsed, and then refused for being in the past. */
const TO_COME = new Set([
  'createApiKey expires_at',
  'createProvisioningKey expires_at',
  'snoozeAlert until',
  'bulkAlerts until',
])

/** Names of all fields of a request that are times, at any depth. */
function timesOf(schema: Schema | undefined, name = ''): readonly string[] {
  if (schema === undefined) return []
  const { properties = {}, items, anyOf = [] } = schema
  const isTime = schema.format === 'date-time' || anyOf.some(({ format }) => format === 'date-time')
  if (isTime) return [name]
  return [
    ...Object.entries(properties).flatMap(([key, field]) =>
      timesOf(field, name === '' ? key : `${name}.${key}`),
    ),
    ...timesOf(items, `${name}[]`),
    ...anyOf.flatMap((kind) => timesOf(kind, name)),
  ]
}

const inQueries = operations.flatMap((operation) =>
  timesOf(operation.query as Schema).map((field) => ({ operation, field, where: 'query' as const })),
)
const inBodies = operations.flatMap((operation) =>
  timesOf(operation.body as Schema).map((field) => ({ operation, field, where: 'body' as const })),
)
const times = [...inQueries, ...inBodies].map(
  (one) => [`${one.operation.operationId} ${one.field}`, one] as const,
)

test('every time of a request may be relative', () => {
  const strict = operations.flatMap(({ operationId, query, body }) =>
    [query, body].flatMap((schema) => strictTimes(schema as Schema, operationId)),
  )
  expect(strict).toEqual([])
  expect(times.length).toBeGreaterThan(30)
})

/** Fields that accept only ISO 8601. */
function strictTimes(schema: Schema | undefined, name: string): readonly string[] {
  if (schema === undefined) return []
  const { properties = {}, items, anyOf = [] } = schema
  if (anyOf.some(({ pattern }) => pattern === RELATIVE_PATTERN)) return []
  if (schema.format === 'date-time') return [name]
  return [
    ...Object.entries(properties).flatMap(([key, field]) => strictTimes(field, `${name} ${key}`)),
    ...strictTimes(items, `${name}[]`),
    ...anyOf.flatMap((kind) => strictTimes(kind, name)),
  ]
}

test.each(times)(
  '%s accepts an age and `now`, but no other word',
  async (name, { operation, field, where }) => {
    const { known, send, restore } = await openWorld()
    const idOf = (key: string) => String(known[key]?.[0])
    const more = JSON.parse(
      JSON.stringify(MORE[operation.operationId] ?? {}).replace('$alert_id', idOf('alert_id')),
    )
    const path = operation.path.replace(/\{(\w+)\}/g, (_, key: string) => idOf(key))
    const ask = async (text: string) => {
      await restore()
      const fields = { ...more, [field]: text }
      const url = where === 'query' ? `${path}?${new URLSearchParams(fields)}` : path
      const body = where === 'query' ? undefined : JSON.stringify(fields)
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const { status, body: answer } = await send({
        method: operation.method,
        url,
        headers,
        body,
        hasToken: true,
      })
      return { status, errors: JSON.stringify(answer?.errors ?? answer?.code ?? '') }
    }
    const wrong = await ask('soon')
    expect([wrong.status, wrong.errors]).toEqual([422, expect.stringContaining(field)])
    for (const text of ['-15m', 'now']) {
      const { status, errors } = await ask(text)
      // A range that starts now is empty, and a time in the future is not in the range.
      const mayBeOutside =
        TO_COME.has(name) || field === 'ends_at' || (text === 'now' && /^(from|starts_at)$/.test(field))
      if (mayBeOutside && status === 422) expect(errors).toMatch(/"OUT_OF_RANGE"/)
      else expect([text, status < 300, errors]).toEqual([text, true, '""'])
    }
  },
)
