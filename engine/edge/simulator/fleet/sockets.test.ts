import { expect, test } from 'vitest'
import { openFilesMax, sourceAddress, tooFewFiles, tooFewPorts } from './sockets.ts'

test('a limit of open files that is too low is reported with the number needed', () => {
  expect(tooFewFiles(15_000, 20_000)).toBeUndefined()
  expect(tooFewFiles(30_000, 20_000)).toMatch(
    /^30000 connections need 30300 open files, .* may have 20000: .*ulimit -n 30300/,
  )
  expect(openFilesMax()).toBeGreaterThan(100)
})

test('connections that exceed the ports of one address use several loopback addresses', () => {
  const from = (nth: number, sockets: number) => sourceAddress(nth, sockets, '127.0.0.1')
  expect(from(0, 28_000)).toBeUndefined()
  expect([0, 27_999, 28_000, 56_000].map((nth) => from(nth, 60_000))).toEqual([
    ...['127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.4'],
  ])
  expect(tooFewPorts(60_000, 'localhost')).toBeUndefined()
  expect(tooFewPorts(60_000, 'fleet.example.com')).toContain('via: gateway')
})
