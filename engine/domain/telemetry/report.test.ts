import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { type DeviceId, Micros } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { Columns } from './columns.ts'
import { Latest } from './latest.ts'
import { type BlockRow, readBlock } from './native-reader.ts'
import type { About } from './payload.ts'
import { type ReportOutcome, report } from './report.ts'

const NOW = Date.UTC(2026, 0, 1) * 1000

/** A device, and the columns to which its messages are added. */
class Bench {
  readonly latest = new Latest()
  readonly columns = new Columns()
  #version = 0

  send(payload: string | Uint8Array, about: Partial<About> = {}): ReportOutcome {
    const version = ++this.#version
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload
    // The pattern of ids does not matter here.
    const deviceId = 'dev_1' as DeviceId
    const whole = { deviceId, name: undefined, receivedAt: Micros(NOW + version), version, ...about }
    return report(bytes, whole, this.latest, this.columns)
  }

  points(): readonly BlockRow<number>[] {
    const block = this.columns.take().points
    const read = block === undefined ? undefined : readBlock(block.bytes)
    return read?.kind === 'points' ? read.rows : []
  }

  texts(): readonly BlockRow<string>[] {
    const block = this.columns.take().texts
    const read = block === undefined ? undefined : readBlock(block.bytes)
    return read?.kind === 'texts' ? read.rows : []
  }
}

const pairs = (row: BlockRow<unknown> | undefined): unknown =>
  row && Object.fromEntries(row.metrics.map((metric, i) => [metric, row.values[i]]))

test('numbers of nested objects become points with dotted names, at the receive time', () => {
  const device = new Bench()
  const reported = device.send('{"speed":1.5,"odom":{"position":{"x":2,"y":-0.25}}}')
  expect(reported).toMatchObject({ kind: 'stored', points: 3, texts: 0, at: NOW + 1, oldest: NOW + 1 })
  expect(device.latest.toData()).toEqual({ speed: 1.5, odom: { position: { x: 2, y: -0.25 } } })
  const [row] = device.points()
  expect(row).toMatchObject({ deviceId: 'dev_1', at: NOW + 1, received: NOW / 1_000_000, version: 1 })
  expect(pairs(row)).toEqual({ speed: 1.5, 'odom.position.x': 2, 'odom.position.y': -0.25 })
})

test('a bool is a point of 0 or 1 and a bool in the snapshot', () => {
  for (const rounds of [1, 2, 3]) {
    const device = new Bench()
    for (let i = 0; i < rounds; i++) device.send('{"on":true,"off":false}')
    expect(device.latest.toData()).toEqual({ on: true, off: false })
    expect(pairs(device.points().at(-1))).toEqual({ on: 1, off: 0 })
  }
})

test('a null clears the field and all fields below it, and adds no point', () => {
  const device = new Bench()
  device.send('{"a":1,"pose":{"x":1,"y":2}}')
  expect(device.send('{"a":null,"pose":null}')).toMatchObject({ kind: 'stored', points: 0 })
  expect(device.latest.toData()).toEqual({})
  device.send('{"pose":{"x":3}}')
  expect(device.latest.toData()).toEqual({ pose: { x: 3 } })
})

test('strings and arrays are texts', () => {
  const device = new Bench()
  device.send('{"mode":"auto","ranges":[1,2.5,{"a":null}],"name":"Zürich \\ud83d\\ude00"}')
  expect(device.latest.toData()).toEqual({
    mode: 'auto',
    ranges: [1, 2.5, { a: null }],
    name: 'Zürich 😀',
  })
  expect(pairs(device.texts()[0])).toEqual({
    mode: 'auto',
    ranges: '[1,2.5,{"a":null}]',
    name: 'Zürich 😀',
  })
})

test('a text that changes with every message is never mistaken for the previous one', () => {
  const device = new Bench()
  const modes = ['auto', 'auto', 'manual', 'auto', 'halt', 'Ä', 'a\\"b']
  for (const mode of modes) device.send(`{"mode":"${mode}","n":1}`)
  expect(device.texts().map((row) => row.values[0])).toEqual([
    'auto',
    'auto',
    'manual',
    'auto',
    'halt',
    'Ä',
    'a"b',
  ])
})

test('half of a surrogate pair is replaced in a text, and refused in a name', () => {
  const device = new Bench()
  device.send('{"text":"a\\ud800"}')
  expect(device.latest.toData()).toEqual({ text: 'a\ufffd' })
  expect(device.send('{"a\\ud800":1}')).toMatchObject({ kind: 'refused', reason: 'bad_name' })
  expect(device.send('{"a\\u0000":1}')).toMatchObject({ kind: 'refused', reason: 'bad_name' })
})

test.each([
  ['{"timestamp":"2025-12-31T10:00:00.000001Z","a":1}', Date.UTC(2025, 11, 31, 10) * 1000 + 1],
  ['{"a":1,"timestamp":1767175200000}', 1_767_175_200_000_000],
  ['{"a":1,"timestamp":1767175200000.25}', 1_767_175_200_000_250],
])('%s keeps its own time', (payload, at) => {
  const device = new Bench()
  for (let i = 0; i < 3; i++)
    expect(device.send(payload)).toMatchObject({ kind: 'stored', at, oldest: at, adjusted: false })
  expect(device.latest.toData()).toEqual({ a: 1 })
  expect(device.latest.timestamp).toBe(at)
})

test.each(['"1970-01-01T00:00:00Z"', '"2999-01-01T00:00:00Z"', '0', '-5', '1e300', '1767175200'])(
  'the far-off time %s is replaced by the receive time',
  (timestamp) => {
    const device = new Bench()
    for (let i = 1; i < 4; i++)
      expect(device.send(`{"timestamp":${timestamp},"a":1}`)).toMatchObject({ at: NOW + i, adjusted: true })
  },
)

test.each(['"yesterday"', '"2026-02-30T00:00:00Z"', 'true', '[1]', '{}', '1e400', '""'])(
  'the timestamp %s is refused',
  (timestamp) => {
    const device = new Bench()
    device.send('{"timestamp":"2025-01-01T00:00:00Z","a":1}')
    expect(device.send(`{"timestamp":${timestamp},"a":2}`)).toMatchObject({ reason: 'bad_timestamp' })
    expect(device.latest.toData()).toEqual({ a: 1 })
  },
)

test('a null timestamp counts as absent', () => {
  expect(new Bench().send('{"timestamp":null,"a":1}')).toMatchObject({ at: NOW + 1, adjusted: false })
})

test('a batch is stored report by report, and the snapshot holds the newest', () => {
  const device = new Bench()
  const reported = device.send(
    '[{"timestamp":"2025-06-01T02:00:00Z","a":2},{"timestamp":"2025-06-01T00:30:00Z","a":1,"b":7},{"a":3}]',
  )
  const hour = Date.UTC(2025, 5, 1) / 1000
  expect(reported).toMatchObject({ points: 4, at: NOW + 1, oldest: (hour + 1800) * 1_000_000 })
  expect(reported).toHaveProperty('hours', [hour + 7200, hour, NOW / 1_000_000])
  expect(device.latest.toData()).toEqual({ a: 3, b: 7 })
  expect(device.points().map(pairs)).toEqual([{ a: 2 }, { a: 1, b: 7 }, { a: 3 }])
})

test('a batch with two reports without a usable time is refused', () => {
  const device = new Bench()
  expect(device.send('[{"a":1},{"a":2}]')).toMatchObject({ reason: 'bad_timestamp' })
  expect(device.send('[{"a":1},{"timestamp":0,"a":2}]')).toMatchObject({ reason: 'bad_timestamp' })
  expect(device.send('[{"a":1}]')).toMatchObject({ kind: 'stored', points: 1 })
  expect(device.send('[]')).toMatchObject({ kind: 'stored', points: 0 })
})

test('reports of a batch with the same time become one, in which later values win', () => {
  const device = new Bench()
  const at = '"timestamp":"2025-06-01T00:00:00Z"'
  device.send(`[{${at},"a":1,"b":1},{${at},"a":2},{${at},"a":null}]`)
  expect(device.points().map(pairs)).toEqual([{ a: 2, b: 1 }])
  expect(device.latest.toData()).toEqual({ b: 1 })
})

test('on a named topic every metric has the name as its prefix, and a value needs no object around it', () => {
  const device = new Bench()
  for (let i = 0; i < 2; i++) device.send('{"x":1,"y":{"z":2}}', { name: 'imu' })
  device.send('21.5', { name: 'room/temperature' })
  device.send('"open"', { name: 'door' })
  device.send('[1,2]', { name: 'ranges' })
  device.send('[{"x":1}]', { name: 'objects' })
  device.send('[{"timestamp":"2025-01-01T00:00:00Z","x":1}]', { name: 'backfill' })
  expect(device.latest.toData()).toEqual({
    imu: { x: 1, y: { z: 2 } },
    'room/temperature': 21.5,
    door: 'open',
    ranges: [1, 2],
    objects: [{ x: 1 }],
    backfill: { x: 1 },
  })
  expect(device.points().map(pairs)).toEqual([
    { 'imu.x': 1, 'imu.y.z': 2 },
    { 'imu.x': 1, 'imu.y.z': 2 },
    { 'room/temperature': 21.5 },
    { 'backfill.x': 1 },
  ])
})

test('an answer to a command is returned and not stored', () => {
  const device = new Bench()
  for (let i = 0; i < 3; i++) device.send('{"request_id":"r1","status":"idle","speed":1}')
  const reported = device.send('{"request_id":"r1","status":"completed","speed":2}')
  expect(reported).toEqual({ kind: 'ack', ack: { request_id: 'r1', status: 'completed', speed: 2 } })
  expect(device.points()).toHaveLength(3)
  expect(device.send('{"request_id":7,"status":"completed"}')).toMatchObject({ kind: 'stored' })
})

test('diagnostics are returned with every report', () => {
  const device = new Bench()
  for (const level of [0, 2, 0])
    expect(device.send(`{"diagnostics":{"level":${level}}}`)).toMatchObject({ diagnostics: { level } })
  for (const level of [0, 2])
    expect(device.send(`{"level":${level}}`, { name: 'diagnostics' })).toMatchObject({
      diagnostics: { level },
    })
  expect(device.send('[{"level":3}]', { name: 'diagnostics' })).toMatchObject({ diagnostics: [{ level: 3 }] })
})

test('an empty object is accepted and stores nothing; an empty payload is refused', () => {
  const device = new Bench()
  expect(device.send('{}')).toMatchObject({ kind: 'stored', points: 0, texts: 0, at: NOW + 1 })
  expect(device.send('')).toMatchObject({ kind: 'refused', reason: 'empty' })
  expect(device.latest.timestamp).toBeUndefined()
  expect(device.columns.rows).toBe(0)
})

test.each([
  ['{"a":1', 'not_json'],
  ['{"a":01}', 'not_json'],
  ['{"a":1}}', 'not_json'],
  ['\ufeff{"a":1}', 'not_json'],
  ['{"a":NaN}', 'not_json'],
  ['hello', 'not_json'],
  ['[1,2]', 'not_object'],
  ['[{"a":1},2]', 'not_object'],
  ['1', 'not_object'],
  ['null', 'not_object'],
  ['"text"', 'not_object'],
  ['{"a":1e400}', 'bad_number'],
  ['{"a":[1,-1e999]}', 'bad_number'],
  ['{"":1}', 'bad_name'],
  [`{"${'n'.repeat(257)}":1}`, 'bad_name'],
  [`{"${'ü'.repeat(129)}":1}`, 'bad_name'],
  ['['.repeat(5000), 'too_deep'],
  [`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, 'too_deep'],
  [`${'{"a":'.repeat(11)}1${'}'.repeat(11)}`, 'too_deep'],
  [`{"a":${'['.repeat(10)}${']'.repeat(10)}}`, 'too_deep'],
  [`{${Array.from({ length: 1001 }, (_, i) => `"m${i}":1`)}}`, 'too_many_fields'],
  [`[${Array.from({ length: 1001 }, (_, i) => `{"timestamp":${1.7e12 + i}}`)}]`, 'too_many_reports'],
])('%.40s is refused and nothing changes', (payload, reason) => {
  const device = new Bench()
  device.send('{"a":1}')
  expect(device.send(payload)).toMatchObject({ kind: 'refused', reason })
  expect(device.latest.toData()).toEqual({ a: 1 })
  expect(device.latest.metrics).toBe(1)
  expect(device.points()).toHaveLength(1)
})

test('a payload exactly at a limit is accepted', () => {
  const device = new Bench()
  const deep = `${'{"a":'.repeat(10)}1${'}'.repeat(10)}`
  for (const payload of [
    deep,
    `[${deep}]`,
    `{"${'n'.repeat(256)}":1}`,
    `{"t":"${'x'.repeat(LIMITS.payloadBytesMax - 8)}"}`,
    `{${Array.from({ length: 1000 }, (_, i) => `"m${i}":${i}`)}}`,
  ])
    for (let i = 0; i < 2; i++) expect(device.send(payload)).toMatchObject({ kind: 'stored' })
})

test('bytes that are not UTF-8 are refused', () => {
  const bytes = Buffer.from('{"a":"_"}')
  bytes[6] = 0xff
  expect(new Bench().send(bytes)).toMatchObject({ kind: 'refused', reason: 'not_utf8' })
})

test('a whole number beyond 2^53 is rounded as JSON.parse does', () => {
  const device = new Bench()
  for (let i = 0; i < 2; i++) device.send('{"a":9007199254740993,"b":123456789012345678901234567890}')
  for (const row of device.points()) expect(row.values).toEqual([9007199254740992, 1.2345678901234568e29])
})

test('__proto__ and constructor are names like any other', () => {
  const device = new Bench()
  const payload = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}},"toString":3}'
  for (let i = 0; i < 2; i++) device.send(payload)
  const copy = Latest.decode(device.latest.encode())
  for (const latest of [device.latest, copy]) expect(JSON.stringify(latest.toData())).toBe(payload)
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  expect(pairs(device.points()[1])).toEqual({
    '__proto__.polluted': 1,
    'constructor.prototype.polluted': 2,
    toString: 3,
  })
})

test('the later of two fields with the same dotted name is the point, and the snapshot keeps both', () => {
  const device = new Bench()
  for (let i = 0; i < 2; i++) device.send('{"a.b":1,"a":{"b":2}}')
  const rows = device.points().map(({ metrics, values }) => ({ metrics, values }))
  expect(rows).toEqual(Array(2).fill({ metrics: ['a.b'], values: [2] }))
  expect(device.latest.toData()).toEqual({ 'a.b': 1, a: { b: 2 } })
})

test('a repeated key has the value that JSON.parse gives it', () => {
  const device = new Bench()
  for (let i = 0; i < 3; i++) device.send('{"a":1,"b":{"x":1},"a":2,"b":{"y":3}}')
  for (const row of device.points()) expect(pairs(row)).toEqual({ a: 2, 'b.y': 3 })
})

test('a device with as many metrics as allowed keeps them, and new ones are dropped and counted', () => {
  const device = new Bench()
  let dropped = 0
  for (let message = 0; message < 50; message++) {
    const names = Array.from({ length: 100 }, (_, i) => `"m${message * 100 + i}":1`)
    const reported = device.send(`{"known":${message},${names}}`)
    if (reported.kind === 'stored') dropped += reported.dropped
  }
  expect(device.latest.metrics).toBe(LIMITS.metricsPerDeviceMax)
  expect(dropped).toBe(50 * 100 + 1 - LIMITS.metricsPerDeviceMax)
  expect(device.latest.toData()).toMatchObject({ known: 49 })
  expect(device.points().at(-1)?.metrics).toEqual(['known'])
  expect(device.send('{"known":1,"late":"text","gone":null}')).toMatchObject({
    points: 1,
    texts: 0,
    dropped: 2,
  })
})

test('scans and long texts are kept whole, and those beyond the limit are dropped', () => {
  const device = new Bench()
  const scan = JSON.stringify(Array.from({ length: 2_000 }, (_, i) => i / 1000))
  const long = 'x'.repeat(LIMITS.shortTextBytesMax + 1)
  for (let i = 0; i < 2; i++)
    expect(device.send(`{"n":${i},"scan":${scan},"t":"${long}"}`)).toMatchObject({
      points: 1,
      texts: 2,
      dropped: 0,
    })
  expect(device.latest.toData()).toEqual({ n: 1, scan: JSON.parse(scan), t: long })
  const names = Array.from({ length: LIMITS.longTextsPerDeviceMax }, (_, i) => `"l${i}":"${long}"`)
  expect(device.send(`{${names},"short":"x"}`)).toMatchObject({ dropped: 2 })
  const copy = Latest.decode(device.latest.encode())
  for (const latest of [device.latest, copy])
    expect(Object.values(latest.toData()).filter((value) => value === long)).toHaveLength(
      LIMITS.longTextsPerDeviceMax - 1,
    )
  expect(device.send(`{"t":"short","l15":"${long}"}`)).toMatchObject({ dropped: 0 })
})
