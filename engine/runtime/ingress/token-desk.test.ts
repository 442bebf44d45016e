import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { type DeviceId, Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { DeviceSession, Downlink } from '../../ports/broker.ts'
import type { TokenWish } from '../../ports/device-tokens.ts'
import { TokenDesk } from './token-desk.ts'

// Only these members are looked at.
const session = { deviceId: 'a' as DeviceId, tokenSec: 3_600 } as unknown as DeviceSession

function stage() {
  let now = 1_000_000
  const wishes: TokenWish[] = []
  const sent: unknown[] = []
  const desk = new TokenDesk({
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
      wishes.push(wish)
      return { mqtt_token: 't', expires_at: 'later' }
    },
    tell: ({ deviceId, message: { suffix, payload } }) =>
      sent.push([deviceId, suffix, JSON.parse(Buffer.from(payload).toString()).code]),
  })
  const pass = (ms: number) => {
    now += ms
  }
  return { desk, wishes, sent, pass }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a device that asks is given a token on token/accepted, with what its own token allows', async () => {
  const { desk, wishes, sent } = stage()
  desk.asked(session, Buffer.from('{"ttl_sec":60,"client_token":"x"}'))
  await settled()
  expect(wishes).toEqual([{ deviceId: 'a', ttlSec: 60, lastsSec: 3_600 }])
  expect(sent).toEqual([['a', 'token/accepted', { mqtt_token: 't', expires_at: 'later', client_token: 'x' }]])
})

test('a device is given one token in a while, however often it asks', async () => {
  const { desk, wishes, pass } = stage()
  for (let index = 0; index < 5; index++) desk.asked(session, Buffer.alloc(0))
  expect(wishes).toHaveLength(1)
  pass(LIMITS.tokenEveryMs)
  desk.asked(session, Buffer.alloc(0))
  expect(wishes).toHaveLength(2)
  await settled()
})

test.each(['[]', '7', '{', '{"ttl_sec":59}', '{"ttl_sec":"60"}', '{"client_token":7}'])(
  'a request that is %s is not answered',
  (payload) => {
    const { desk, wishes } = stage()
    desk.asked(session, Buffer.from(payload))
    expect(wishes).toEqual([])
  },
)

test('a device whose credentials end soon is told on error', () => {
  const { desk, sent } = stage()
  desk.expiring(session, Millis(2_000_000))
  expect(sent).toEqual([['a', 'error', 'TOKEN_EXPIRES']])
})
