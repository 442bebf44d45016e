import { expect, test } from 'vitest'
import { createKnownHosts } from './known-hosts.ts'

const hosts = createKnownHosts({
  host: '0.0.0.0',
  publicUrls: [
    'https://fleet.example.com:8443/x',
    'http://images.example.com',
    'http://[2001:DB8:0::5]:8000',
    'http://198.51.100.9',
  ],
  addresses: () => ['10.0.0.7', 'fe80::1'],
})

test.each([
  'localhost',
  'LOCALHOST:8000',
  '127.0.0.1:8000',
  '[::1]:8000',
  '0.0.0.0:8000',
  'fleet.example.com',
  'Fleet.Example.com:8443',
  '10.0.0.7:8000',
  '[fe80::1]:8000',
  '[2001:db8::5]:8000',
  '198.51.100.9',
  undefined,
])('%s is a name of this service', (header) => {
  expect(hosts.has(header)).toBe(true)
})

test.each([
  'evil.example',
  'localhost.evil.example',
  '10.0.0.8',
  'fleet.example.com.evil',
  '',
  '127.0.0.1.evil',
])('%j is a foreign name', (header) => {
  expect(hosts.has(header)).toBe(false)
})
