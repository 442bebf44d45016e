import { describe, expect, test } from 'vitest'
import { Millis } from '../../schemas/ids.ts'
import { NOW, openHarness } from '../testing/rest.ts'

const AUTH = '/api/v1/auth'

describe('device tokens', () => {
  test('device tokens carry the requested rights and expiry', async () => {
    const { request, login, device, tokens } = openHarness()
    await device('r')
    const { token } = await login('operator')
    const issue = async (body: object) => (await request(`POST ${AUTH}/devices/token`, { token, body })).body
    const both = await issue({ device_id: 'r' })
    expect(both).toMatchObject({ device_id: 'r', expires_at: '2026-03-02T12:00:00.000Z' })
    const narrow = await issue({ device_id: 'r', scopes: ['subscribe'], ttl_hours: 1 })
    expect(narrow.expires_at).toBe('2026-03-01T13:00:00.000Z')
    expect(await tokens.verifyDevice(narrow.mqtt_token)).toMatchObject({
      claims: { deviceId: 'r', mayPublish: false, maySubscribe: true },
    })
  })

  test('a device token may live for a minute, or for five years', async () => {
    const { request, login, device, tokens } = openHarness()
    await device('r')
    const { token } = await login('operator')
    for (const ttl_sec of [60, 157_680_000]) {
      const body = { device_id: 'r', ttl_sec }
      const issued = (await request(`POST ${AUTH}/devices/token`, { token, body })).body
      expect(Date.parse(issued.expires_at)).toBe(Math.floor(NOW / 1000 + ttl_sec) * 1000)
      expect(await tokens.verifyDevice(issued.mqtt_token)).toMatchObject({ kind: 'valid' })
    }
  })

  test('a device renews its own token for the same lifetime and rights, until it is revoked', async () => {
    const { request, login, device, tokens, clock } = openHarness()
    await device('r')
    const { token } = await login('operator')
    const first = await request(`POST ${AUTH}/devices/token`, {
      token,
      body: { device_id: 'r', ttl_sec: 3_600, scopes: ['subscribe'] },
    })
    const renew = (mqtt_token: unknown, more: object = {}) =>
      request(`POST ${AUTH}/devices/token/renew`, { body: { mqtt_token, ...more } })
    clock.at += 60_000
    const renewed = await renew(first.body.mqtt_token, { ttl_sec: 86_400 })
    expect(renewed.body).toMatchObject({ device_id: 'r', expires_at: '2026-03-01T13:01:00.000Z' })
    expect(await tokens.verifyDevice(renewed.body.mqtt_token)).toMatchObject({
      claims: { deviceId: 'r', mayPublish: false, maySubscribe: true },
    })
    expect((await renew(renewed.body.mqtt_token, { ttl_sec: 60 })).body).toMatchObject({
      expires_at: '2026-03-01T12:02:00.000Z',
    })
    expect((await renew('guessed')).status).toBe(401)
    expect((await renew(token)).status).toBe(401)
    await request(`POST ${AUTH}/devices/r/revoke`, { token })
    expect((await renew(renewed.body.mqtt_token)).status).toBe(401)
  })

  test('a revocation voids all tokens of a device, and tokens issued later are valid', async () => {
    const { request, login, device, tokens, engine } = openHarness()
    const deviceId = await device('r', { group: 'a' })
    const { token } = await login('operator', { groups: ['a'] })
    const counts = async (mqttToken: string) => {
      const verified = await tokens.verifyDevice(mqttToken)
      const validFrom = engine.devices.get(deviceId)?.tokensValidFrom ?? Number.POSITIVE_INFINITY
      return verified.kind === 'valid' && verified.claims.issuedAt >= validFrom
    }
    const issue = async (more: object = {}) => {
      const body = { device_id: 'r', ...more }
      return String((await request(`POST ${AUTH}/devices/token`, { token, body })).body.mqtt_token)
    }
    const first = await issue()
    expect(await counts(first)).toBe(true)
    const revoked = await request(`POST ${AUTH}/devices/r/revoke`, { token })
    expect([revoked.status, revoked.body.device_id]).toEqual([200, 'r'])
    expect(await counts(first)).toBe(false)
    const second = await issue()
    expect(await counts(second)).toBe(true)
    const third = await issue({ revoke_previous: true })
    expect([await counts(second), await counts(third)]).toEqual([false, true])
    expect(await counts(await issue())).toBe(true)
    expect(await counts(third)).toBe(true)
    const other = await login('operator', { groups: ['b'] })
    expect((await request(`POST ${AUTH}/devices/r/revoke`, { token: other.token })).status).toBe(404)
  })

  test('device tokens are issued within an operator’s groups, and never by a viewer', async () => {
    const { request, login, device } = openHarness()
    await device('r', { group: 'a' })
    const statusFor = async (token: string, device_id = 'r') =>
      (await request(`POST ${AUTH}/devices/token`, { token, body: { device_id } })).status
    expect(await statusFor((await login('operator', { groups: ['a'] })).token)).toBe(200)
    expect(await statusFor((await login('operator', { groups: ['b'] })).token)).toBe(404)
    expect(await statusFor((await login('admin')).token, 'nobody')).toBe(404)
    expect(await statusFor((await login('admin')).token, '../r')).toBe(404)
    expect(await statusFor((await login('viewer')).token)).toBe(403)
  })

  test.each([
    { scopes: [] },
    { scopes: ['fly'] },
    { scopes: ['publish', 'publish'] },
    { ttl_hours: 0 },
    { ttl_hours: 8761 },
    { ttl_hours: '24' },
    { ttl_hours: 1.5 },
    { ttl_sec: 59 },
    { ttl_sec: 157_680_001 },
    { revoke_previous: 'yes' },
    { device_id: 5 },
  ])('refuse %j', async (change) => {
    const { request, login, device } = openHarness()
    await device('r')
    const { token } = await login('admin')
    const { status } = await request(`POST ${AUTH}/devices/token`, {
      token,
      body: { device_id: 'r', ...change },
    })
    expect(status).toBe(422)
  })

  test('device tokens are valid from the registration on, even if the clock was set back', async () => {
    const { request, login, device, tokens, clock } = openHarness()
    const validFrom = Millis(NOW + 5_000)
    clock.at = validFrom
    await device('r')
    clock.at = NOW
    const { token } = await login('admin')
    const { body } = await request(`POST ${AUTH}/devices/token`, { token, body: { device_id: 'r' } })
    const verified = await tokens.verifyDevice(body.mqtt_token)
    expect(verified.kind === 'valid' && verified.claims.issuedAt).toBe(validFrom)
  })
})
