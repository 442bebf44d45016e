// No parameter of any list is run as SQL. The cases are generated from the operations and use the real database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Operation } from '../../schemas/operation.ts'
import { OPERATIONS } from '../../schemas/operations/all.ts'
import { openServiceWorld } from '../contract/testing/service-world.ts'
import { ServiceHarness } from './testing/service.ts'

const harness = new ServiceHarness()
let world: Awaited<ReturnType<typeof openServiceWorld>>
beforeAll(async () => {
  world = await openServiceWorld(harness)
})
afterAll(() => harness.close())

/** Texts that end a string, a list or a statement, take time, or read other data. */
const SQL = [
  "'",
  '"',
  '`',
  "' OR 1=1 --",
  "' OR '1'='1",
  "x') OR ('1'='1",
  "'; DROP TABLE points; --",
  "' UNION ALL SELECT name, 1, 1, 1 FROM system.tables --",
  "' AND sleep(3) = 0 --",
  "\\' OR 1=1 --",
  "\\\\' OR 1=1 --",
  "'/**/OR/**/1=1#",
  "%' OR '%'='",
  '{device:String}',
  '1; SELECT 1',
  '1 OR 1=1',
  "' || (SELECT version()) || '",
  'ʼ OR 1=1 --',
  "\u0000' OR 1=1 --",
  "a,b') OR 1=1 --",
]

describe('SQL in the parameter', () => {
  const operations: readonly Operation[] = Object.values(OPERATIONS)
  const cases = operations
    .filter(({ method, path }) => method === 'GET' && path.startsWith('/api/'))
    .flatMap((operation) =>
      Object.keys(Object(Object(operation.query)['properties'])).map((name) => [operation, name] as const),
    )

  test.each(cases.map(([operation, name]) => [operation.operationId, name, operation] as const))(
    '%s ?%s= finds no more with SQL than with an unused word',
    async (_, name, operation) => {
      const path = operation.path.replace('{device_id}', 'r').replace(/\{\w+\}/, 'none')
      const needed =
        Object(operation.query)['required']?.includes('metric') && name !== 'metric' ? ['metric=m'] : []
      const ask = async (value: string) => {
        const query = [...needed, `${name}=${encodeURIComponent(value)}`].join('&')
        const request = {
          method: 'GET',
          url: `${path}?${query}`,
          headers: {},
          body: undefined,
          hasToken: true,
        }
        return await world.send(request)
      }
      const control = await ask('nobody-uses-this')
      for (const sql of SQL) {
        const { status, body, text } = await ask(sql)
        expect([400, 404, 422, control.status], `${sql}: ${text}`).toContain(status)
        if (status === 200) expect(found(body), `${sql}: ${text}`).toEqual(found(control.body))
      }
    },
  )

  test('the data is unchanged afterwards', async () => {
    const { body } = await world.rest.get('/telemetry/r/history?metric=m&interval=1d')
    expect(body['data']).toMatchObject([{ count: 1 }])
  })
})

/** What was found. The number of series and their names follow from the request itself: commas part names. */
function found(body: unknown): unknown {
  const { data, series, total } = Object(body)
  return [withoutNames(data ?? series), total]
}

function withoutNames(list: unknown): unknown {
  if (!Array.isArray(list)) return list
  return list.flatMap((one) => {
    const { metric, series, data, ...rest } = Object(one)
    if (metric !== undefined) return withoutNames(data)
    return series === undefined ? [one] : [{ ...rest, data: withoutNames(series) }]
  })
}
