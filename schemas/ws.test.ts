import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseClientFrame } from './ws.ts'

const parse = (value: unknown) => parseClientFrame(JSON.stringify(value))

test.each([
  { type: 'auth', token: 't' },
  { type: 'subscribe', id: 's1', channel: 'logs' },
  {
    type: 'subscribe',
    id: 's1',
    channel: 'telemetry',
    filter: { device_id: 'dev_1', group: 'a/b', type: 'gateway', tag: 'red', metrics: ['odom.x'] },
    throttle_ms: 500,
    snapshot: true,
  },
  { type: 'unsubscribe', id: 's1' },
  { type: 'ping', and: 'what is not known is left alone' },
])('the frame %j is accepted', (frame) => {
  expect(parse(frame)).toEqual({ kind: 'frame', frame })
})

test.each([
  [{ type: 'auth' }, 'VALIDATION_FAILED', 'REQUIRED'],
  [{ type: 'subscribe', id: '', channel: 'devices' }, 'VALIDATION_FAILED', 'TOO_SHORT'],
  [
    { type: 'subscribe', id: 's', channel: 'devices', filter: { device_id: 'a/b' } },
    'VALIDATION_FAILED',
    'WRONG_FORMAT',
  ],
  [
    { type: 'subscribe', id: 's', channel: 'devices', filter: { metric: [] } },
    'UNKNOWN_FIELD',
    'UNKNOWN_FIELD',
  ],
  [
    { type: 'subscribe', id: 's', channel: 'devices', filtre: { group: 'a' } },
    'UNKNOWN_FIELD',
    'UNKNOWN_FIELD',
  ],
  [{ type: 'subscribe', id: 's', channel: 'devices', throttle_ms: -1 }, 'VALIDATION_FAILED', 'OUT_OF_RANGE'],
  [{ type: 'toString' }, 'VALIDATION_FAILED', 'NOT_ALLOWED'],
  [{}, 'VALIDATION_FAILED', 'REQUIRED'],
])('the frame %j is refused', (frame, code, error) => {
  expect(parse(frame)).toMatchObject({
    kind: 'refused',
    about: { code, detail: { errors: [{ code: error }] } },
  })
})

test.each(['a/', '/a', 'a//b', 'a b', '..', 'a/b/c/d/e/f/g/h/i'])(
  'the group %j is refused, as in REST',
  (group) => {
    const frame = { type: 'subscribe', id: 's', channel: 'devices', filter: { group } }
    expect(parse(frame)).toMatchObject({
      about: {
        code: 'VALIDATION_FAILED',
        detail: { errors: [{ path: '/filter/group', code: 'WRONG_FORMAT' }] },
      },
    })
  },
)

test('parsing any text returns a value and never throws', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(parseClientFrame(text).kind).toBe('refused')
    }),
  )
  expect(parseClientFrame('['.repeat(16_000)).kind).toBe('refused')
  const deep = `{"type":"subscribe","id":"s","channel":"devices","filter":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`
  expect(parseClientFrame(deep).kind).toBe('refused')
})

test.each(['weather', 'rules'])('the channel %s is refused with those that exist', (channel) => {
  expect(parse({ type: 'subscribe', id: 's', channel })).toMatchObject({
    id: 's',
    about: {
      code: 'VALIDATION_FAILED',
      detail: {
        message:
          '/channel must be equal to one of the allowed values: devices, telemetry, commands, shadows, ota, logs, events, alerts, audit, fleet',
        errors: [{ path: '/channel', code: 'NOT_ALLOWED' }],
      },
    },
  })
})

test('a field that a frame lacks is named by its own pointer, as in REST', () => {
  expect(parse({ type: 'subscribe', channel: 'devices' })).toMatchObject({
    about: {
      detail: {
        message: '/id is required',
        errors: [{ path: '/id', code: 'REQUIRED', message: 'is required' }],
      },
    },
  })
})

test('an unknown field of a subscription is refused with the most similar known name', () => {
  const frame = { type: 'subscribe', id: 's', channel: 'devices', filter: { groups: 'a' } }
  expect(parse(frame)).toMatchObject({
    about: {
      detail: {
        message: expect.stringContaining('/filter/groups is not known; did you mean group?'),
        errors: [{ path: '/filter/groups' }],
      },
    },
  })
})
