import { describe, expect, test } from 'vitest'
import { Millis, parseDeviceId, toIso } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'
import { shadowDelta } from './delta.ts'
import { acceptedMessage, desiredMessage, documentMessage, rejectedMessage, toDocument } from './messages.ts'
import { type Author, NEW_SHADOW, type Shadow } from './record.ts'
import { type ShadowOutcome, setDesired, setReported } from './write.ts'

const at = (ms: number): Millis => Millis(ms)
const user: Author = { kind: 'user', id: 'usr_1' }
const device: Author = { kind: 'device', id: 'dev_a' }
const id = parseDeviceId('dev_a')
if (id === undefined) throw new Error('a valid id')
const body = ({ payload }: { payload: Uint8Array }) => JSON.parse(Buffer.from(payload).toString())
const nested = (depth: number): JsonObject => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)

const want = (shadow: Shadow, patch: JsonObject, options: object = {}) =>
  setDesired(shadow, patch, { mode: 'merge', now: at(1_000), by: user, ...options })
const say = (shadow: Shadow, patch: JsonObject, options: object = {}) =>
  setReported(shadow, patch, { now: at(2_000), by: device, ...options })
function changed(outcome: ShadowOutcome) {
  if (outcome.kind !== 'changed') throw new Error(`expected a change, got ${outcome.kind}`)
  return outcome
}
function refused(outcome: ShadowOutcome) {
  if (outcome.kind !== 'refused') throw new Error(`expected a refusal, got ${outcome.kind}`)
  return outcome
}

test('a write to either side raises the version', () => {
  const first = changed(want(NEW_SHADOW, { mode: 'eco' })).shadow
  const second = changed(say(first, { mode: 'turbo' })).shadow
  expect([NEW_SHADOW.version, first.version, second.version]).toEqual([0, 1, 2])
  expect(second.updatedAt).toBe(at(2_000))
})

test('a write with an earlier time than the previous write gets the time of the previous write', () => {
  const first = changed(say(NEW_SHADOW, { mode: 'eco' })).shadow
  const second = changed(want(first, { mode: 'turbo' }))
  expect([second.change.at, second.shadow.updatedAt]).toEqual([at(2_000), at(2_000)])
})

test('a write that changes nothing returns the same shadow', () => {
  const { shadow } = changed(want(NEW_SHADOW, { net: { ip: 'a' }, list: [1] }))
  const again = want(shadow, { net: { ip: 'a', mac: null }, list: [1] })
  expect(again).toEqual({ kind: 'unchanged', shadow })
  expect(again.kind === 'unchanged' && again.shadow).toBe(shadow)
  expect(want(shadow, { list: [1], net: { ip: 'a' } }, { mode: 'replace' }).kind).toBe('unchanged')
})

test('a write merges by default, and null deletes', () => {
  const { shadow } = changed(want(NEW_SHADOW, { a: 1, net: { ip: 'a', mac: 'b' } }))
  expect(changed(want(shadow, { a: null, net: { ip: 'c' } })).shadow.desired).toEqual({
    net: { ip: 'c', mac: 'b' },
  })
})

test('a replacing write deletes what it does not name', () => {
  const { shadow } = changed(want(NEW_SHADOW, { a: 1, net: { ip: 'a', mac: 'b' } }))
  const outcome = changed(want(shadow, { net: { ip: 'a' }, b: null }, { mode: 'replace' }))
  expect(outcome.shadow.desired).toEqual({ net: { ip: 'a' } })
  expect(outcome.change.patch).toEqual({ a: null, net: { mac: null } })
  expect(outcome.change.previous).toEqual({ a: 1, net: { mac: 'b' } })
})

test('a change has its author, its effect and the old values', () => {
  const { shadow } = changed(want(NEW_SHADOW, { a: 1, b: 2 }))
  const { change } = changed(want(shadow, { a: 5, b: 2, c: 3 }, { requestId: 'req_1' }))
  expect(change).toEqual({
    version: 2,
    at: at(1_000),
    section: 'desired',
    by: user,
    patch: { a: 5, c: 3 },
    previous: { a: 1, c: null },
    requestId: 'req_1',
  })
})

test('a write that expects an old version is refused with the current version and the delta', () => {
  const { shadow } = changed(want(NEW_SHADOW, { a: 1, b: 2 }))
  const behind = changed(say(shadow, { a: 1 })).shadow
  const outcome = refused(want(behind, { a: 9 }, { expectedVersion: 1 }))
  expect(outcome.code).toBe('DEVICE_SHADOW_CONFLICT')
  expect(outcome.detail).toEqual({
    message: 'expected version 2, got 1',
    expected: 2,
    got: 1,
    delta: { b: 2 },
  })
  expect(changed(want(behind, { a: 9 }, { expectedVersion: 2 })).shadow.version).toBe(3)
})

test('a write says whether the delta changed', () => {
  const { shadow, deltaChanged: deltaMoved } = changed(want(NEW_SHADOW, { a: 1 }))
  expect(deltaMoved).toBe(true)
  expect(changed(say(shadow, { battery: 80 })).deltaChanged).toBe(false)
  expect(changed(say(shadow, { a: 1 })).deltaChanged).toBe(true)
})

test('a state over the limit is refused with its side and size, however small the patch', () => {
  const half = 'x'.repeat(LIMITS.shadowSideBytesMax / 2)
  const { shadow } = changed(say(NEW_SHADOW, { a: half }))
  const outcome = refused(say(shadow, { b: half }))
  const actual = JSON.stringify({ a: half, b: half }).length
  expect(outcome).toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
    detail: { side: 'reported', limit: 65_536, actual },
  })
  expect(changed(say(shadow, { a: null, b: half })).shadow.version).toBe(2)
  expect(changed(want(shadow, { b: half })).shadow.version).toBe(2)
})

test('the size of a state is counted in bytes of UTF-8', () => {
  expect(refused(want(NEW_SHADOW, { a: 'é'.repeat(40_000) })).code).toBe('PAYLOAD_TOO_LARGE')
})

test('a state that is too deep is refused', () => {
  expect(want(NEW_SHADOW, nested(10)).kind).toBe('changed')
  expect(refused(want(NEW_SHADOW, nested(11))).detail).toMatchObject({
    errors: [{ path: '/a'.repeat(10), code: 'TOO_DEEP' }],
  })
  expect(refused(want(NEW_SHADOW, nested(5_000))).code).toBe('VALIDATION_FAILED')
})

test.each([
  ['x'.repeat(129), 'TOO_LONG'],
  ['', 'TOO_SHORT'],
  ['__proto__', 'WRONG_FORMAT'],
  ['\ud800', 'WRONG_FORMAT'],
])('the key %s is refused', (key, code) => {
  const patch: JsonObject = JSON.parse(`{"ok":{${JSON.stringify(key)}:1}}`)
  const { detail } = refused(want(NEW_SHADOW, patch))
  expect(detail).toMatchObject({ errors: [{ code }] })
})

test('numbers that JSON cannot represent and lone surrogates are refused', () => {
  expect(refused(want(NEW_SHADOW, JSON.parse('{"a":[1e400]}'))).detail).toMatchObject({
    errors: [{ path: '/a/0' }],
  })
  expect(refused(want(NEW_SHADOW, { a: '\ud800' })).code).toBe('VALIDATION_FAILED')
})

test('metadata has the time of each leaf’s last change, by dotted name', () => {
  const first = changed(want(NEW_SHADOW, { net: { ip: 'a', mac: 'b' }, list: [1] })).shadow
  const second = changed(want(first, { net: { ip: 'c' }, list: [1] }, { now: at(5_000) })).shadow
  expect(toDocument(id, second)['metadata']).toEqual({
    desired: {
      'net.ip': { timestamp: toIso(at(5_000)) },
      'net.mac': { timestamp: toIso(at(1_000)) },
      list: { timestamp: toIso(at(1_000)) },
    },
    reported: {},
  })
})

test('leaves that share a dotted name get the later of their times in metadata', () => {
  const first = changed(want(NEW_SHADOW, { 'a.b': 1, a: { b: 2 } })).shadow
  const second = changed(want(first, { a: { b: 3 } }, { now: at(9_000) })).shadow
  expect(shadowDelta(second).metadata).toEqual({ 'a.b': { timestamp: toIso(at(9_000)) } })
})

test('the metadata of a delta covers its leaves only', () => {
  const wanted = changed(want(NEW_SHADOW, { a: 1, b: { c: 2, d: 3 } })).shadow
  const behind = changed(say(wanted, { a: 1, b: { d: 3 } })).shadow
  expect(shadowDelta(behind)).toEqual({
    state: { b: { c: 2 } },
    metadata: { 'b.c': { timestamp: toIso(at(1_000)) } },
  })
})

describe('messages to the device', () => {
  const wanted = changed(want(NEW_SHADOW, { a: 1 })).shadow

  test('the device is told the delta in a retained message', () => {
    const message = desiredMessage(wanted, at(9))
    expect(message).toMatchObject({ suffix: 'shadow/desired', qos: 1, retain: true })
    expect(body(message)).toEqual({
      version: 1,
      state: { a: 1 },
      metadata: { a: { timestamp: toIso(at(1_000)) } },
      timestamp: toIso(at(1_000)),
    })
  })

  test('a device in sync is told an empty state with the version', () => {
    const { shadow } = changed(say(wanted, { a: 1, b: 2 }))
    expect(shadowDelta(shadow).state).toEqual({})
    expect(body(desiredMessage(shadow, at(9)))).toMatchObject({ version: 2, state: {} })
  })

  test('the device is told that its report was accepted, or why not', () => {
    expect(body(acceptedMessage(wanted, { now: at(0), clientToken: 't1' }))).toEqual({
      version: 1,
      timestamp: toIso(at(0)),
      client_token: 't1',
    })
    const about = { deviceId: id, now: at(0), clientToken: undefined, messageId: 'msg_1_2_3' }
    expect(body(rejectedMessage(refused(say(wanted, {}, { expectedVersion: 7 })), about))).toEqual({
      title: 'Shadow version conflict',
      status: 409,
      code: 'DEVICE_SHADOW_CONFLICT',
      detail: 'expected version 1, got 7',
      expected: 1,
      got: 7,
      delta: { a: 1 },
      instance: 'fleet/dev_a/shadow/reported',
      request_id: 'msg_1_2_3',
      timestamp: toIso(at(0)),
    })
  })

  test('the device gets the whole document when it asks', () => {
    expect(body(documentMessage(id, wanted, { now: at(3) }))).toMatchObject({
      device_id: 'dev_a',
      version: 1,
      desired: { a: 1 },
      reported: {},
      delta: { a: 1 },
      in_sync: false,
      updated_at: toIso(at(1_000)),
      timestamp: toIso(at(3)),
    })
  })

  test('metadata is left out if the message would be too large', () => {
    const leaves = Object.fromEntries(Array.from({ length: 6_000 }, (_, i) => [`k${i}`, 1]))
    const { shadow } = changed(want(NEW_SHADOW, leaves))
    const message = documentMessage(id, shadow, { now: at(3) })
    expect(message.payload.length).toBeLessThanOrEqual(LIMITS.payloadBytesMax)
    expect(body(message)).not.toHaveProperty('metadata')
  })
})
