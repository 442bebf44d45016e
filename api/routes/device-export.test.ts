import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEVICE_COLUMNS } from '../../schemas/bulk.ts'
import { RegisterDeviceBody } from '../../schemas/device.ts'
import type { openHarness } from '../testing/rest.ts'
import { CSV, NDJSON, setUp } from './testing/bulk.ts'

const devices = [
  {
    device_id: 'a',
    name: '=cmd()|"x", é',
    type: 'gateway',
    description: '-1\nline',
    group: 'g/h',
    tags: ['@a;b', '\\', 'c'],
    metadata: { deep: { n: [1, null] }, '=x': 'y' },
    heartbeat_timeout_sec: 900,
  },
  { device_id: 'b', name: "'quoted'", type: 'simulator', parent_id: 'a' },
  { device_id: 'c', name: 'x', type: 'simulator' },
]
/** Everything but when and where in the log a device was registered, which depends on concurrency. */
const stored = (engine: ReturnType<typeof openHarness>['engine']) =>
  engine.all().map((device) => ({ ...device, createdAt: 0, updatedAt: 0, registrationPlace: 0 }))

test.each([
  ['ndjson', NDJSON],
  ['csv', CSV],
])('as %s registers the same devices elsewhere', async (format, headers) => {
  const { engine, lines, request, token } = await setUp()
  await lines(...devices)
  const file = await request(`GET /api/v1/devices/export?format=${format}`, { token })
  expect(file.status).toBe(200)
  expect(file.headers['content-disposition']).toBe(`attachment; filename="devices.${format}"`)
  const other = await setUp()
  const { body } = await other.send(file.text, headers)
  expect(body).toMatchObject({ created: 3, failed: 0 })
  expect(stored(other.engine)).toEqual(stored(engine))
  if (format === 'csv') expect(file.text).not.toMatch(/(?:^|[,\n])"?[=+@-]/)
})

const CHARACTER = fc.constantFrom('a', 'é', '😀', ' ', '"', "'", ',', ';', '\\', '=', '-', '.')
const LINE = fc.string({ unit: CHARACTER, minLength: 1, maxLength: 12 }).filter((line) => line.trim() !== '')
const TEXT = fc.oneof(LINE, fc.string({ unit: 'binary', minLength: 1 }))
const REGISTRATION = fc.record(
  {
    name: LINE,
    type: fc.constantFrom('simulator', 'gateway', 'mqtt_device'),
    description: TEXT,
    group: fc.constantFrom('g', 'g/h', 'a.b/c-d'),
    tags: fc.uniqueArray(LINE, { maxLength: 4 }),
    metadata: fc.dictionary(LINE, fc.jsonValue({ maxDepth: 2 })),
    parent_id: fc.constant('first'),
    heartbeat_timeout_sec: fc.integer({ min: 5, max: 86_400 }),
  },
  { requiredKeys: ['name', 'type'] },
)

test('an export has every field that a registration takes, and devices are imported as they were exported', async () => {
  expect(DEVICE_COLUMNS).toEqual(Object.keys(RegisterDeviceBody.properties))
  const seen = fc.array(REGISTRATION, { minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(seen, async (bodies) => {
      const { engine, lines, request, token } = await setUp()
      const first = { device_id: 'first', name: 'first', type: 'gateway' }
      const { body } = await lines(first, ...bodies.map((one, n) => ({ device_id: `d${n}`, ...one })))
      expect(body).toMatchObject({ failed: 0 })
      for (const [format, headers] of [
        ['ndjson', NDJSON],
        ['csv', CSV],
      ] as const) {
        const file = await request(`GET /api/v1/devices/export?format=${format}`, { token })
        const other = await setUp()
        expect((await other.send(file.text, headers)).body).toMatchObject({ failed: 0 })
        expect(stored(other.engine)).toEqual(stored(engine))
      }
    }),
    { numRuns: 5 },
  )
})

test('an export is CSV if the caller accepts that', async () => {
  const { lines, request, token } = await setUp()
  await lines(...devices)
  const asked = async (path: string, accept: string) =>
    (await request(`GET ${path}`, { token, headers: { accept } })).headers['content-type']
  expect(await asked('/api/v1/devices/export', 'text/csv')).toMatch(/^text\/csv/)
  expect(await asked('/api/v1/devices/export', '*/*')).toMatch(/^application\/x-ndjson/)
  expect(await asked('/api/v1/devices/export?format=ndjson', 'text/csv')).toMatch(/^application\/x-ndjson/)
})

test('an export keeps decommissioned devices decommissioned', async () => {
  const { errors, lines, request, send, token } = await setUp()
  await lines(...devices)
  await request('DELETE /api/v1/devices/c', { token })
  const { text } = await request('GET /api/v1/devices/export?status=decommissioned', { token })
  expect(errors((await send(text)).body)).toEqual([expect.stringMatching(/^DEVICE_DECOMMISSIONED/)])
})

test('an export obeys filters and the caller’s groups', async () => {
  const { lines, login, request } = await setUp()
  await lines(...devices)
  const { token } = await login('operator', { groups: ['g'] })
  const ids = async (query: string) =>
    [
      ...(await request(`GET /api/v1/devices/export${query}`, { token })).text.matchAll(
        /"device_id":"(\w+)"/g,
      ),
    ].map(([, id]) => id)
  expect(await ids('')).toEqual(['a'])
  expect(await ids('?type=simulator')).toEqual([])
  const { status } = await request('GET /api/v1/devices/export?page=1', { token })
  expect(status).toBe(422)
})

test('the path of the export is no device id', async () => {
  const { errors, lines } = await setUp()
  const { body } = await lines({ device_id: 'export', name: 'x', type: 'simulator' })
  expect(errors(body)).toEqual([expect.stringMatching(/^VALIDATION_FAILED/)])
})

test('a list and an export accept several statuses, and a refusal names the valid ones', async () => {
  const { lines, request, token } = await setUp()
  await lines(...devices)
  await request('DELETE /api/v1/devices/c', { token })
  const listed = async (query: string) => {
    const { body } = await request(`GET /api/v1/devices?sort=device_id&${query}`, { token })
    return body.data.map((device: { device_id: string }) => device.device_id)
  }
  expect(await listed('status=online,decommissioned')).toEqual(['c'])
  expect(await listed('status=online&status=provisioning')).toEqual(['a', 'b'])
  expect(await listed('status=provisioning,decommissioned')).toEqual(['a', 'b', 'c'])
  const { text } = await request('GET /api/v1/devices/export?status=provisioning,decommissioned', { token })
  expect(text.trim().split('\n')).toHaveLength(3)
  for (const query of ['status=lost', 'status=online,', 'status=']) {
    const { status, body } = await request(`GET /api/v1/devices?${query}`, { token })
    expect([status, body.errors]).toEqual([
      422,
      [
        {
          path: '/status',
          in: 'query',
          code: 'NOT_ALLOWED',
          message: expect.stringContaining('maintenance'),
        },
      ],
    ])
  }
})

test('an unknown sort order is refused with the valid ones instead of a pattern', async () => {
  const { request, token } = await setUp()
  const { status, body } = await request('GET /api/v1/devices?sort=last_seen_at', { token })
  expect([status, body.errors[0]]).toEqual([
    422,
    {
      path: '/sort',
      in: 'query',
      code: 'WRONG_FORMAT',
      message:
        'must be one of created_at, updated_at, name, device_id, status, type, group; :ASC or :DESC may follow',
    },
  ])
})
