import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { type DeviceId, Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { DeviceSession, Downlink } from '../../ports/broker.ts'
import type { TokenRequest } from '../../ports/device-tokens.ts'
import { TokenIssuer } from './token-issuer.ts'

// The token desk reads only these members.
const session = { deviceId: 'a' as DeviceId, tokenSec: 3_600 } as unknown as DeviceSession

function stage() {
  let now = 1_000_000
  const issued: TokenRequest[] = []
  const sent: unknown[] = []
  const noted: unknown[] = []
  const issuer = new TokenIssuer({
    broker: {
      publish: async ({ deviceId, suffix, payload }: Downlink) => {
        sent.push([deviceId, suffix, JSON.parse(Buffer.from(payload).toString())])
        return true
      },
    },
    now: () => Millis(now),
    failed: (error) => {
      throw error
    },
    issue: async (wish) => {
      issued.push(wish)
      return { mqtt_token: 't', expires_at: 'later' }
    },
    publishError: ({ deviceId, message: { suffix, payload } }) =>
      sent.push([deviceId, suffix, JSON.parse(Buffer.from(payload).toString()).code]),
    recordAudit: ({ action, deviceId, detail }) => noted.push([action, deviceId, detail?.['reason']]),
  })
  const pass = (ms: number) => {
    now += ms
  }
  return { issuer, issued, sent, noted, pass }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a device that asks gets a token on token/accepted, issued with the lifetime of its own token in mind', async () => {
  const { issuer, issued, sent } = stage()
  issuer.requested(session, Buffer.from('{"ttl_sec":60,"client_token":"x"}'))
  await settled()
  expect(issued).toEqual([{ deviceId: 'a', ttlSec: 60, tokenSec: 3_600 }])
  expect(sent).toEqual([['a', 'token/accepted', { mqtt_token: 't', expires_at: 'later', client_token: 'x' }]])
})

test('a device gets at most one token in a while, however often it asks', async () => {
  const { issuer, issued, pass } = stage()
  for (let index = 0; index < 5; index++) issuer.requested(session, Buffer.alloc(0))
  expect(issued).toHaveLength(1)
  pass(LIMITS.tokenEveryMs)
  issuer.requested(session, Buffer.alloc(0))
  expect(issued).toHaveLength(2)
  await settled()
})

test.each(['[]', '7', '{', '{"ttl_sec":59}', '{"ttl_sec":"60"}', '{"client_token":7}'])(
  'a request that is %s is not answered',
  (payload) => {
    const { issuer, issued } = stage()
    issuer.requested(session, Buffer.from(payload))
    expect(issued).toEqual([])
  },
)

test('a device whose credentials end soon is warned on error', () => {
  const { issuer, sent } = stage()
  issuer.expiring(session, Millis(2_000_000))
  expect(sent).toEqual([['a', 'error', 'TOKEN_EXPIRES']])
})

test('each end of a device’s credentials is noted once, however often it connects', () => {
  const { issuer, noted } = stage()
  for (const at of [2_000_000, 2_000_000, 3_000_000]) issuer.expiring(session, Millis(at))
  expect(noted).toEqual([
    ['mqtt.token', 'a', 'its credentials end at 1970-01-01T00:33:20.000Z'],
    ['mqtt.token', 'a', 'its credentials end at 1970-01-01T00:50:00.000Z'],
  ])
})

test('the number of devices that are remembered as noted is limited', () => {
  const { issuer, noted } = stage()
  const expire = (id: string) =>
    issuer.expiring({ deviceId: id } as unknown as DeviceSession, Millis(2_000_000))
  for (let index = 0; index <= LIMITS.tokensAtOnceMax; index++) expire(`d${index}`)
  const before = noted.length
  expire('d1')
  expect(noted).toHaveLength(before)
  expire('d0')
  expect(noted).toHaveLength(before + 1)
})
