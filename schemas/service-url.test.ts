import { expect, test } from 'vitest'
import { serviceUrl } from './service-url.ts'

test.each([
  ['127.0.0.1', 'mqtt://127.0.0.1:1883'],
  ['fleet.example.com', 'mqtt://fleet.example.com:1883'],
  ['::1', 'mqtt://[::1]:1883'],
  ['0.0.0.0', 'mqtt://localhost:1883'],
  ['::', 'mqtt://localhost:1883'],
])('a service that listens on %s has the URL %s', (host, url) => {
  expect(serviceUrl('mqtt', { host, port: 1883 })).toBe(url)
  expect(new URL(url).port).toBe('1883')
})
