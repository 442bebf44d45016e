import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { API_LIMITS } from '../limits.ts'
import { CSV, NDJSON, setUp } from './testing/bulk.ts'

const HEADER = 'device_id,name,type,description,group,tags,metadata,parent_id'

describe('an array of JSON', () => {
  const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }

  test('an array registers its devices one by one and names the wrong entries', async () => {
    const { engine, errors, send } = await setUp()
    const body = JSON.stringify([{ device_id: 'r1', name: 'R', type: 'simulator' }, 7, { name: 'R' }])
    const answer = await send(body, JSON_TYPE)
    expect(answer.body).toMatchObject({ total: 3, created: 1, failed: 2 })
    expect(errors(answer.body)[1]).toBe('BAD_REQUEST the row is not a JSON object')
    expect(engine.all().map(({ id }) => id)).toEqual(['r1'])
  })

  test.each(['{"name":"R","type":"simulator"}', '[1', ''])(
    'a JSON body must be an array: %j is refused',
    async (body) => {
      const { send } = await setUp()
      expect((await send(body, JSON_TYPE)).status).toBe(400)
    },
  )

  test('an array that is too long is refused with advice', async () => {
    const { send } = await setUp()
    const { status, body } = await send(`["${'x'.repeat(1_100_000)}"]`, JSON_TYPE)
    expect([status, body.code, body.detail]).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      expect.stringContaining('send this many devices as lines or as CSV'),
    ])
  })
})

describe('lines of JSON', () => {
  test('lines register devices like single requests, each with its token', async () => {
    const { engine, lines, tokens } = await setUp()
    const robot = { device_id: 'r1', name: 'R 1', type: 'mqtt_device', tags: ['a', 'a'], metadata: { n: 1 } }
    const { status, body, headers } = await lines(robot, { name: 'R 2', type: 'simulator' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ dry_run: false, total: 2, created: 2, valid: 0, failed: 0 })
    expect(headers['cache-control']).toBe('no-store')
    expect(engine.all().find(({ id }) => id === 'r1')).toMatchObject({
      name: 'R 1',
      tags: ['a'],
      metadata: { n: 1 },
    })
    expect(Object.values(body.results[1]).join()).toMatch(/,dev_\w+,created,\S+,\d{4}-\S+Z$/)
    expect(await tokens.verifyDevice(body.results[0].access_token)).toMatchObject({
      kind: 'valid',
      claims: { deviceId: 'r1' },
    })
  })

  test.each(['application/ndjson', 'application/jsonl'])(
    'lines of JSON may have the type %s',
    async (type) => {
      const { send } = await setUp()
      const { body } = await send('{"name":"R","type":"simulator"}', { 'content-type': type })
      expect(body).toMatchObject({ created: 1 })
    },
  )

  test('wrong lines fail one by one, with the reason', async () => {
    const { device, engine, errors, send } = await setUp()
    await device('taken')
    const rows = [
      '{"device_id":"ok","name":"x","type":"simulator"}',
      '',
      '{"name":"x","type":"nonsense"}',
      '{"device_id":"a/b","name":"","type":"simulator"}',
      '[]',
      '{"name"',
      '{"device_id":"taken","name":"x","type":"simulator"}',
      '{"device_id":"ok","name":"x","type":"simulator"}',
      '{"device_id":"old","name":"x","type":"simulator","status":"decommissioned"}',
      '{"name":"x","type":"simulator","metadata":{"__proto__":{"x":1}}}',
      `{"name":"x","type":"simulator","metadata":${'['.repeat(99)}${']'.repeat(99)}}`,
      `{"name":"x","type":"simulator","metadata":{"x":"${'x'.repeat(40_000)}"}}`,
    ]
    const { body } = await send(rows.join('\r\n'))
    expect(errors(body).map((error) => error?.split(' ')[0])).toEqual([
      undefined,
      'VALIDATION_FAILED',
      'VALIDATION_FAILED',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'ALREADY_EXISTS',
      'ALREADY_EXISTS',
      'DEVICE_DECOMMISSIONED',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'PAYLOAD_TOO_LARGE',
    ])
    expect(body).toMatchObject({ total: 11, created: 1, failed: 10 })
    expect(body.results.map(({ row }: { row: number }) => row)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    expect(body.results[2].error.errors.map(({ path }: { path: string }) => path)).toContain('/device_id')
    expect(errors(body)[6]).toContain('row 1 has the same device_id')
    expect(engine.all().map(({ id }) => id)).toEqual(['ok', 'taken'])
  })

  test('a dry run only checks the lines', async () => {
    const { device, engine, send } = await setUp()
    await device('taken')
    const body =
      '{"device_id":"new","name":"x","type":"simulator"}\n{"device_id":"taken","name":"x","type":"simulator"}'
    const answered = await send(body, NDJSON, '?dry_run=true')
    expect(answered.body).toMatchObject({ dry_run: true, total: 2, created: 0, valid: 1, failed: 1 })
    expect(answered.text).not.toContain('access_token')
    expect(engine.all().length).toBe(1)
    expect(engine.recorded.at(-1)).toMatchObject({ action: 'bulkRegisterDevices', detail: { valid: 1 } })
  })

  test('lines may begin with a byte order mark and be split within characters', async () => {
    const { engine, send } = await setUp()
    const bytes = Buffer.from('\ufeff{"device_id":"a","name":"é漢🙂","type":"simulator"}\n')
    expect((await send(bytes)).body.created).toBe(1)
    expect(engine.all()[0]?.name).toBe('é漢🙂')
  })
})

describe('CSV', () => {
  test('CSV has a device per row, tags between semicolons, and metadata as JSON or by name', async () => {
    const { csv, engine } = await setUp()
    const { body } = await csv(
      'name,type,device_id,tags,metadata,metadata.site.hall,metadata.serial',
      '"Picker, 7",simulator,p7,"floor;a\\;b ; ","{""n"":1}",B,007',
      "'=1+1,simulator,p8,,,,",
    )
    expect(body).toMatchObject({ created: 2, failed: 0 })
    expect(engine.all()).toMatchObject([
      {
        id: 'p7',
        name: 'Picker, 7',
        tags: ['floor', 'a;b'],
        metadata: { n: 1, site: { hall: 'B' }, serial: '007' },
      },
      { id: 'p8', name: '=1+1', tags: [], metadata: {}, group: undefined },
    ])
  })

  test.each([
    [
      ['device_id,name,typ,colour'],
      'typ is not known; colour is not known; type is required; known are device_id',
    ],
    [['name,type,name'], 'name is given twice'],
    [['name,type,metadata.__proto__.x'], 'metadata.__proto__.x is not known'],
  ])('with columns %j is refused as a whole, and they are named', async (rows, why) => {
    const { csv, engine } = await setUp()
    const { status, body } = await csv(...rows, 'x,simulator,x')
    expect([status, body.code]).toEqual([422, 'VALIDATION_FAILED'])
    expect(body.detail).toContain(why)
    expect(engine.all().length).toBe(0)
  })

  test('wrong rows of CSV fail one by one', async () => {
    const { csv, errors } = await setUp()
    const { body } = await csv(
      'name,type,metadata,metadata.a',
      'x,simulator',
      'x,simulator,[1],',
      'x,simulator,"{""a"":1}",2',
      'x,simulator,,',
    )
    expect(errors(body)).toEqual([
      'VALIDATION_FAILED there are 2 fields for 4 columns',
      'VALIDATION_FAILED /metadata: must be a JSON object',
      'VALIDATION_FAILED /metadata/a: is given twice',
      undefined,
    ])
  })

  test('broken CSV registers nothing', async () => {
    const { csv, engine } = await setUp()
    const { status, body } = await csv(HEADER, 'r,x,simulator,,,,,', '"r')
    expect([status, body.detail]).toEqual([400, 'row 2: a quoted field does not end'])
    expect(engine.all().length).toBe(0)
  })
})

describe('a body as a whole', () => {
  const row = '{"name":"x","type":"simulator"}\n'
  test.each([
    ['nothing', '', NDJSON, 422],
    ['a header alone', HEADER, CSV, 422],
    ['no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), NDJSON, 400],
    ['plain text', row, { 'content-type': 'text/plain' }, 415],
    ['compressed rows', gzipSync(row), { ...NDJSON, 'content-encoding': 'gzip' }, 415],
    ['a single device as JSON', row, { 'content-type': 'application/json' }, 400],
    ['too many rows', row.repeat(LIMITS.bulkRowsMax + 1), NDJSON, 413],
    ['too long a line', `"${'x'.repeat(API_LIMITS.bulkRowCharsMax)}`, NDJSON, 413],
    ['too many bytes', Buffer.alloc(API_LIMITS.bulkBytesMax + 1, '\n'), NDJSON, 413],
  ])('of %s is refused', async (_, body, headers, status) => {
    const { engine, send } = await setUp()
    expect((await send(body, headers)).status).toBe(status)
    expect(engine.all().length).toBe(0)
  })

  test('a body may have as many devices as promised', async () => {
    const { send } = await setUp()
    const { body } = await send(row.repeat(LIMITS.bulkRowsMax), NDJSON, '?dry_run=true')
    expect(body).toMatchObject({ total: LIMITS.bulkRowsMax, valid: LIMITS.bulkRowsMax })
  })
})

test('after a failure of the service the other rows are not tried and are reported as such', async () => {
  const { engine, errors, lines } = await setUp()
  const submit = engine.submit.bind(engine)
  let tried = 0
  engine.submit = (...args) => {
    tried++
    if (tried === 3) throw new Fault('LOG_UNAVAILABLE', { retryable: true })
    return submit(...args)
  }
  const rows = Array.from({ length: 500 }, (_, i) => ({ device_id: `d${i}`, name: 'x', type: 'simulator' }))
  const { status, body } = await lines(...rows)
  expect(status).toBe(200)
  expect(tried).toBeLessThanOrEqual(API_LIMITS.bulkRegistrationsAtOnceMax + 3)
  expect(body.created + body.failed).toBe(500)
  expect(body.created).toBe(engine.all().length)
  expect(new Set(errors(body).filter(Boolean)).size).toBe(2)
})

test('a device is registered after its gateway, in any order of rows', async () => {
  const { engine, lines } = await setUp()
  await lines(
    { device_id: 'child', name: 'x', type: 'simulator', parent_id: 'gw' },
    { device_id: 'gw', name: 'x', type: 'gateway' },
  )
  expect(engine.all().map(({ id }) => id)).toEqual(['child', 'gw'])
})

test('a parent must be an existing gateway or one of the same rows, also in a dry run', async () => {
  const { device, errors, send } = await setUp()
  await device('plain')
  const rows = [
    { name: 'x', type: 'simulator', parent_id: 'plain' },
    { name: 'x', type: 'simulator', parent_id: 'nobody' },
    { name: 'x', type: 'simulator', parent_id: 'gw' },
    { device_id: 'gw', name: 'x', type: 'gateway' },
  ]
  const body = rows.map((row) => JSON.stringify(row)).join('\n')
  for (const query of ['?dry_run=true', ''])
    expect(errors((await send(body, NDJSON, query)).body)).toEqual([
      'VALIDATION_FAILED /parent_id: must be a gateway in service; plain is of type mqtt_device',
      'VALIDATION_FAILED /parent_id: must be a gateway in service; nobody is not registered',
      undefined,
      undefined,
    ])
})

test('each device has an entry in the audit, and so has the call', async () => {
  const { engine, lines, user } = await setUp()
  await lines({ device_id: 'a', name: 'x', type: 'simulator' }, { name: 'x' })
  const actor = { type: 'user', id: user.id, name: user.email }
  expect(engine.recorded).toMatchObject([
    { actor, action: 'bulkRegisterDevices', target: 'devices/a', deviceId: 'a', detail: { row: 1 } },
    { actor, target: 'devices/bulk', detail: { dry_run: false, total: 2, created: 1, failed: 1 } },
  ])
})

test('two bulk registrations may run, and a third one is refused for a moment', async () => {
  const { engine, lines } = await setUp()
  const submit = engine.submit.bind(engine)
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  let held = 0
  engine.submit = (...args) => {
    held += 1
    return gate.then(() => submit(...args))
  }
  const device = (id: string) => ({ device_id: id, name: 'x', type: 'simulator' })
  const first = lines(device('a'))
  const second = lines(device('b'))
  // Requests that are sent at the same time may arrive in any order.
  await expect.poll(() => held).toBe(2)
  const third = await lines(device('c'))
  expect([third.status, third.headers['retry-after']]).toEqual([429, '2'])
  open()
  expect([(await first).body.created, (await second).body.created]).toEqual([1, 1])
  expect((await lines(device('c'))).body.created).toBe(1)
})

test('a bulk registration repeated with its key registers nothing twice', async () => {
  const { send, engine } = await setUp()
  const rows = [
    { name: 'a', type: 'simulator' },
    { name: 'a', type: 'simulator' },
    { device_id: 'mine', name: 'b', type: 'simulator' },
  ]
  const text = rows.map((row) => JSON.stringify(row)).join('\n')
  const bulk = (body: string, key: string) => send(body, { ...NDJSON, 'idempotency-key': key })
  const idsOf = ({ body }: Awaited<ReturnType<typeof bulk>>) =>
    body.results.map((row: { device_id: string; status: string }) => `${row.status} ${row.device_id}`)
  // As if the connection had broken after the first two rows.
  await bulk(text.split('\n').slice(0, 2).join('\n'), 'k')
  expect(engine.all().length).toBe(2)
  const [first, again] = [await bulk(text, 'k'), await bulk(text, 'k')]
  expect([first.body.created, idsOf(again)]).toEqual([3, idsOf(first)])
  expect(engine.all().length).toBe(3)
  expect((await bulk(text, 'other')).body).toMatchObject({ created: 2, failed: 1 })
  expect((await bulk(text.replace('"b"', '"c"'), 'k')).body).toMatchObject({ created: 2, failed: 1 })
  expect(engine.all().length).toBe(5)
})

describe('with upsert', () => {
  const NEW = { device_id: 'new', name: 'N', type: 'simulator' }
  const upsert = async (harness: Awaited<ReturnType<typeof setUp>>, rows: readonly unknown[], query = '') => {
    const text = rows.map((row) => JSON.stringify(row)).join('\n')
    return (await harness.send(text, NDJSON, `?upsert=true${query}`)).body
  }
  const statuses = (body: { results: { status: string }[] }) => body.results.map(({ status }) => status)

  test('rows change the devices that exist, and what they leave out stays', async () => {
    const harness = await setUp()
    const old = { device_id: 'old', name: 'O', type: 'simulator', tags: ['a'], metadata: { n: 1, m: 1 } }
    const same = { ...old, device_id: 'same' }
    await harness.lines(old, same)
    const rows = [{ ...old, name: 'P', tags: undefined, group: 'w/a', metadata: { n: null } }, same, NEW]
    for (const [query, expected] of [
      ['&dry_run=true', ['valid', 'valid', 'valid']],
      ['', ['updated', 'unchanged', 'created']],
      ['', ['unchanged', 'unchanged', 'unchanged']],
    ] as const)
      expect(statuses(await upsert(harness, rows, query))).toEqual(expected)
    expect(harness.engine.all().find(({ id }) => id === 'old')).toMatchObject({
      ...{ name: 'P', tags: ['a'], group: 'w/a', metadata: { m: 1 } },
    })
    const changes = harness.engine.recorded.filter(({ target }) => target === 'devices/old')
    expect(changes.map(({ detail }) => detail)).toEqual([{ row: 1 }, { row: 1 }])
    expect(harness.engine.recorded.at(-2)).toMatchObject({ detail: { created: 1, updated: 1, unchanged: 1 } })
  })

  test('no token is issued for a device that exists', async () => {
    const harness = await setUp()
    await harness.lines(NEW)
    const body = await upsert(harness, [{ ...NEW, name: 'other' }])
    expect(body.results).toEqual([{ row: 1, device_id: 'new', status: 'updated' }])
  })

  test('what is fixed at registration is refused, row by row', async () => {
    const harness = await setUp()
    await harness.lines({ device_id: 'gw', name: 'x', type: 'gateway' }, NEW)
    const body = await upsert(harness, [
      { ...NEW, type: 'gateway' },
      { device_id: 'gw', name: 'x', type: 'gateway', status: 'decommissioned' },
      { ...NEW, device_id: 'other', status: 'decommissioned' },
    ])
    expect(harness.errors(body)).toEqual([
      'VALIDATION_FAILED /type: cannot be changed; it is simulator',
      'DEVICE_DECOMMISSIONED the row is of a decommissioned device',
      expect.stringContaining('DEVICE_DECOMMISSIONED'),
    ])
    const moved = await upsert(harness, [{ ...NEW, parent_id: 'gw' }])
    expect(harness.errors(moved)).toEqual(['VALIDATION_FAILED /parent_id: cannot be changed; it is not set'])
  })

  test('an export changes nothing, in either format', async () => {
    const harness = await setUp()
    await harness.lines(
      { device_id: 'gw', name: 'G', type: 'gateway', description: 'd', group: 'a/b', tags: ['x;y', 'z'] },
      { device_id: 'sub', name: '=1', type: 'simulator', parent_id: 'gw', metadata: { n: { m: [1] } } },
      { ...NEW, device_id: 'gone' },
    )
    await harness.request('DELETE /api/v1/devices/gone', { token: harness.token })
    for (const [format, headers] of [
      ['ndjson', NDJSON],
      ['csv', CSV],
    ] as const) {
      const path = `GET /api/v1/devices/export?format=${format}`
      const { text } = await harness.request(path, { token: harness.token })
      const { body } = await harness.send(text, headers, '?upsert=true')
      expect([body.unchanged, body.failed]).toEqual([3, 0])
    }
  })

  test('a call repeated with its key gives the devices that it made, with their tokens', async () => {
    const { send } = await setUp()
    const call = () => send(JSON.stringify(NEW), { ...NDJSON, 'idempotency-key': 'k' }, '?upsert=true')
    expect([(await call()).body.created, (await call()).body.created]).toEqual([1, 1])
  })
})
