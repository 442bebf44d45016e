import { expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import type { ProvisioningKey } from '../../engine/ports/users.ts'
import { type DeviceId, Millis, parseDeviceId, UserId } from '../../schemas/ids.ts'
import { approvePlace, freePlace, matchesGlob, refuseUse, takePlace } from './provisioning-places.ts'

const NOW = Millis(1_000_000)

function key(over: Partial<ProvisioningKey> = {}): ProvisioningKey {
  return {
    ...{ id: UserId('prk_1'), name: 'line 3', secretHash: 'hash', deviceType: 'mqtt_device' },
    ...{ group: undefined, idPattern: undefined, needsApproval: false, devicesMax: 2, taken: 0, claims: [] },
    ...{ createdAt: NOW, createdBy: UserId('ann'), expiresAt: Millis(NOW + 1) },
    ...over,
  }
}

function id(text: string): DeviceId {
  return parseDeviceId(text) ?? expect.fail(`${text} is no device id`)
}

function asking(deviceId: string, over: { now?: number; registered?: readonly string[] } = {}) {
  const { now = NOW, registered = [] } = over
  const isRegistered = (other: DeviceId) => registered.includes(other)
  return { deviceId: id(deviceId), ip: '10.0.0.1', now: Millis(now), isRegistered }
}

test('a device has one place, however often it asks', () => {
  const once = takePlace(key(), asking('a'))
  expect([once.result.kind, once.key.taken]).toEqual(['taken', 1])
  const again = takePlace(once.key, asking('a'))
  expect(again).toEqual({ key: once.key, result: { kind: 'taken' } })
  expect(again.key).toBe(once.key)
})

test('a key without free places gives no further one, but keeps those that it gave', () => {
  const one = takePlace(key({ devicesMax: 1 }), asking('a'))
  expect(takePlace(one.key, asking('b'))).toMatchObject({
    key: { taken: 1 },
    result: { code: 'PROVISIONING_KEY_USED_UP', detail: { limit: 1 } },
  })
  expect(takePlace(one.key, asking('a')).result.kind).toBe('taken')
})

test('a device waits until it is approved, and a rejected one frees its place', () => {
  const waiting = takePlace(key({ needsApproval: true, devicesMax: 1 }), asking('a'))
  expect(waiting.result).toMatchObject({ code: 'PROVISIONING_PENDING', detail: { retry_after_sec: 30 } })
  expect(takePlace(waiting.key, asking('a')).result).toMatchObject({ code: 'PROVISIONING_PENDING' })
  const approved = approvePlace(waiting.key, id('a'))
  expect(takePlace(approved, asking('a')).result.kind).toBe('taken')
  expect(approvePlace(approved, id('a'))).toBe(approved)
  const freed = freePlace(waiting.key, id('a'))
  expect([freed.taken, freed.claims]).toEqual([0, []])
  expect(freePlace(freed, id('a'))).toBe(freed)
})

test('a claim is removed once its device is registered and every node knows, but its place stays taken', () => {
  const one = takePlace(key({ devicesMax: 9 }), asking('a'))
  const later = NOW + LIMITS.provisioningClaimKeptMs
  const claimed = (now: number, registered: readonly string[]) =>
    takePlace(one.key, asking('b', { now, registered })).key.claims.map(({ deviceId }) => deviceId)
  expect(claimed(later, ['a'])).toEqual(['a', 'b'])
  expect(claimed(later + 1, [])).toEqual(['a', 'b'])
  expect(claimed(later + 1, ['a'])).toEqual(['b'])
  expect(takePlace(one.key, asking('b', { now: later + 1, registered: ['a'] })).key.taken).toBe(2)
})

test('the number of waiting devices is bounded', () => {
  const claim = { status: 'pending', at: NOW, ip: '10.0.0.1' } as const
  const claims = Array.from({ length: LIMITS.provisioningClaimsMax }, (_, i) => ({
    ...claim,
    deviceId: id(`d${i}`),
  }))
  const full = key({ devicesMax: 1e5, taken: claims.length, claims })
  expect(takePlace(full, asking('x'))).toEqual({
    key: full,
    result: expect.objectContaining({ code: 'LIMIT_REACHED' }),
  })
})

test('a key is valid until it expires, for matching ids', () => {
  const of = (text: string, now: number = NOW) => ({ deviceId: id(text), now: Millis(now) })
  expect(refuseUse(key(), of('a'))).toBeUndefined()
  expect(refuseUse(key(), of('a', NOW + 1))).toMatchObject({ code: 'PROVISIONING_KEY_EXPIRED' })
  const limited = key({ idPattern: 'robot-*' })
  expect(refuseUse(limited, of('robot-7'))).toBeUndefined()
  expect(refuseUse(limited, of('my-robot-7'))).toMatchObject({ code: 'PROVISIONING_ID_NOT_ALLOWED' })
})

test.each([
  ['robot-?', ['robot-7'], ['robot-', 'robot-77', 'Robot-7']],
  ['*', ['a', 'A_-9'], []],
  ['a*b*c', ['abc', 'aXbYc', 'abbcc', 'abcbc'], ['ab', 'acb', 'abcd', 'xabc']],
  ['exact', ['exact'], ['exactly', 'exac']],
  ['*-7', ['robot-7', '-7-7'], ['robot-77', '7']],
])('%s matches whole ids only', (pattern, matching, others) => {
  for (const text of matching) expect([text, matchesGlob(pattern, text)]).toEqual([text, true])
  for (const text of others) expect([text, matchesGlob(pattern, text)]).toEqual([text, false])
})
