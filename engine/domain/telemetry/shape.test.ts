// Checks that reading a payload by its shape gives the same as parsing it, bit for bit (shape Q1, report T2).
import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DeviceId, Micros } from '../../../schemas/ids.ts'
import { Columns } from './columns.ts'
import { Latest } from './latest.ts'
import { readBlock } from './native-reader.ts'
import { readNumber } from './number.ts'
import { type ReportOutcome, report } from './report.ts'
import { matches, SlotValues } from './shape.ts'

const NOW = Date.UTC(2026, 0, 1) * 1000
// The pattern of ids does not matter here.
const deviceId = 'dev_1' as DeviceId

interface Reading {
  readonly reported: readonly object[]
  readonly blocks: readonly unknown[]
  readonly data: unknown
  readonly timestamp: number | undefined
}

/** Removes the fields that show whether the message was read by its shape or parsed. */
function withoutWay(outcome: ReportOutcome): object {
  const { shape: _, reports: __, ...rest } = { shape: undefined, reports: [], ...outcome }
  return rest
}

/** Every payload is parsed if `forgetful` is true, because then no shape is ever learned. */
function run(payloads: readonly Uint8Array[], forgetful: boolean, name?: string): Reading {
  const latest = new Latest()
  const reported: object[] = []
  const blocks: unknown[] = []
  const columns = new Columns()
  if (forgetful) {
    columns.shapes.find = () => undefined
    columns.shapes.learn = () => false
  }
  payloads.forEach((payload, i) => {
    const about = { deviceId, name, receivedAt: Micros(NOW + i), version: i }
    reported.push(withoutWay(report(payload, about, latest, columns)))
    const { points, texts } = columns.take()
    blocks.push([points && readBlock(points.bytes), texts && readBlock(texts.bytes)])
  })
  return { reported, blocks, data: latest.toData(), timestamp: latest.timestamp }
}

function expectSame(payloads: readonly Uint8Array[], name?: string): void {
  const shaped = run(payloads, false, name)
  const general = run(payloads, true, name)
  // toEqual distinguishes 0 from -0.
  expect(shaped).toEqual(general)
}

const numberText = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc
    .tuple(fc.integer({ min: -99_999, max: 99_999 }), fc.nat(8))
    .map(([n, digits]) => (n / 1000).toFixed(digits)),
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?$/),
)
const leafText = fc.oneof(
  { weight: 5, arbitrary: numberText },
  fc.constantFrom('true', 'false', 'null', '[]', '[1,"x"]', '{}'),
  fc.string({ unit: 'binary', maxLength: 6 }).map((text) => JSON.stringify(text)),
  fc.constantFrom('"auto"', '"2025-01-02T03:04:05.6Z"', '1735787045000', '"completed"'),
)
const key = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'c',
    'a.b',
    'timestamp',
    '__proto__',
    '1',
    '0',
    'request_id',
    'status',
    'diagnostics',
  ),
  fc.string({ unit: 'binary', maxLength: 4 }),
)
const space = fc.constantFrom('', '', '', ' ', '\n', '\t ')

/** Payloads with the same keys and layout and different leaves, as one device sends them. */
const family = fc.array(fc.tuple(key, fc.nat(2), space), { minLength: 1, maxLength: 6 }).chain((members) =>
  fc
    .array(fc.array(leafText, { minLength: 6, maxLength: 6 }), { minLength: 2, maxLength: 5 })
    .map((messages) =>
      messages.map((leaves) => {
        const texts = members.map(([name, depth, gap], i) => {
          const leaf = leaves[i] ?? '0'
          const value =
            depth === 0 ? leaf : depth === 1 ? `{"x":${leaf},${gap}"y":1}` : `{"x":{"y":${gap}${leaf}}}`
          return `${JSON.stringify(name)}${gap}:${gap}${value}`
        })
        return Buffer.from(`{${texts.join(',')}}`)
      }),
    ),
)

test('payloads of one layout give the same with and without shapes', () => {
  fc.assert(
    fc.property(family, fc.constantFrom(undefined, 'imu'), (payloads, name) => expectSame(payloads, name)),
    { numRuns: 600 },
  )
})

test('payloads with changed, lost or added bytes give the same with and without shapes', () => {
  const change = fc.tuple(
    fc.nat(),
    fc.nat(2),
    fc.constantFrom(...Buffer.from('0123456789.eE+-"\\{}[]:, atfn\x80\xff\x00')),
  )
  fc.assert(
    fc.property(family, fc.array(change, { minLength: 1, maxLength: 3 }), (payloads, changes) => {
      const first = payloads[0] ?? Buffer.alloc(0)
      let mutated = Array.from(first)
      for (const [where, how, byte] of changes) {
        const at = where % (mutated.length + 1)
        mutated = mutated.toSpliced(at, how === 0 ? 0 : 1, ...(how === 1 ? [] : [byte]))
      }
      expectSame([first, first, Buffer.from(mutated), ...payloads.slice(1)])
    }),
    { numRuns: 600 },
  )
})

test.each([
  '{"timestamp":1735700000000,"a":1,"timestamp":null}',
  '{"timestamp":null,"a":1,"timestamp":1735700000000}',
  '{"timestamp":1735700000000,"a":1,"timestamp":1735700001000}',
  '{"timestamp":{},"a":1,"timestamp":1735700001000}',
  '{"\\u0074imestamp":1735700001000,"\\u0061":1}',
  '{"a":1,"a":{}}',
  '{"a":{},"a":1}',
  '{"a":{"x":1},"a":{"y":2}}',
  '{"2":1,"1":1}',
  '{"request_id":"r","status":"idle"}',
  '{"x":{"request_id":"r","status":"completed","diagnostics":1,"timestamp":5}}',
  ' {\n"a" : 1 ,\t"b":{ } , "c" : "x" }\r\n',
])('%s sent again gives the same with and without shapes', (text) => {
  const other = text.replace('idle', 'completed').replace(':1', ':-2.50')
  expectSame([text, text, other, text].map((one) => Buffer.from(one)))
})

test('a number is either read exactly as JSON.parse reads it, or not at all', () => {
  const into = new Float64Array(1)
  fc.assert(
    fc.property(numberText, (text) => {
      const bytes = Buffer.from(`${text},`)
      const end = readNumber(bytes, 0, into, 0)
      let parsed: number
      try {
        parsed = JSON.parse(text)
      } catch {
        expect(end).not.toBe(text.length)
        return
      }
      if (Number.isFinite(parsed)) expect([end, into[0]]).toEqual([text.length, parsed])
      else expect(end).toBe(-1)
    }),
    { numRuns: 3000 },
  )
})

test.each([
  '9007199254740991',
  '9007199254740993',
  '0.1',
  '0.30000000000000004',
  '1e22',
  '1e23',
  '123e-22',
  '123e-23',
  `0.${'0'.repeat(21)}1`,
  `0.${'0'.repeat(22)}7`,
  '5e-324',
  '1.7976931348623157e308',
  '2.2250738585072011e-308',
  '-0',
  '-0.0',
  '0e5',
])('%s is read exactly', (text) => {
  const into = new Float64Array(1)
  expect(readNumber(Buffer.from(text), 0, into, 0)).toBe(text.length)
  expect(into[0]).toBe(JSON.parse(text))
})

test.each(['', '-', '+1', '.5', '1.', '-.5', '1e', '1e+', 'NaN', 'Infinity', '1e999', '0x10', 'true'])(
  '%j is not a number',
  (text) => {
    const bytes = Buffer.from(`${text}}`)
    const end = readNumber(bytes, 0, new Float64Array(1), 0)
    expect(end === -1 || end < text.length).toBe(true)
  },
)

test('the second payload of a layout is read by its shape, whatever its values are', () => {
  const columns = new Columns()
  const send = (text: string): ReportOutcome =>
    report(
      Buffer.from(text),
      { deviceId, name: undefined, receivedAt: Micros(NOW), version: 1 },
      new Latest(),
      columns,
    )
  send('{"t":"2025-01-01T00:00:00Z","n":1,"deep":{"on":true,"mode":"auto"},"gone":null}')
  const shape = columns.shapes.find(
    Buffer.from('{"t":"x","n":-1.5e3,"deep":{"on":false,"mode":"manual"},"gone":null}'),
    undefined,
  )
  expect(shape?.fields.map((field) => [field.metric, field.kind])).toEqual([
    ['t', 'text'],
    ['n', 'number'],
    ['deep.on', 'bool'],
    ['deep.mode', 'text'],
    ['gone', 'cleared'],
  ])
  expect(columns.shapes.slotValues.texts.slice(0, 2)).toEqual(['x', 'manual'])
  expect(Array.from(columns.shapes.slotValues.numbers.slice(0, 2))).toEqual([-1500, 0])
})

test('an incomplete payload does not match its shape', () => {
  const text = '{"timestamp":"2025-01-01T00:00:00Z","n":15,"on":true,"mode":"auto"}'
  const columns = new Columns()
  const about = { deviceId, name: undefined, receivedAt: Micros(NOW), version: 1 }
  report(Buffer.from(text), about, new Latest(), columns)
  const shape = columns.shapes.find(Buffer.from(text), undefined)
  if (shape === undefined) throw new Error('nothing was learned')
  for (let length = 0; length < text.length; length++)
    expect(matches(shape, Buffer.from(text.slice(0, length)), new SlotValues())).toBe(false)
  expect(matches(shape, Buffer.from(`${text} `), new SlotValues())).toBe(false)
})
