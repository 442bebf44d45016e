import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { TrustedProxies } from './trusted-proxies.ts'

const proxies = new TrustedProxies(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32'])

/** A request is judged by these two fields. */
const request = (remoteAddress: string | undefined, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage

test.each([
  ['198.51.100.7', undefined, '198.51.100.7'],
  ['198.51.100.7', '203.0.113.9', '198.51.100.7'],
  ['10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['10.0.0.1', '198.51.100.66, 203.0.113.9, 192.0.2.1', '203.0.113.9'],
  ['2001:db8::1', '2001:db9::5', '2001:db9::5'],
  ['10.0.0.1', '203.0.113.9, unknown', '10.0.0.1'],
  ['10.0.0.1', '10.0.0.2', '10.0.0.2'],
  ['10.0.0.1', undefined, '10.0.0.1'],
  [undefined, '203.0.113.9', ''],
])('a request that %s sent for %s comes from %s', (sender, forwarded, client) => {
  expect(proxies.clientOf(request(sender, forwarded))).toBe(client)
})
