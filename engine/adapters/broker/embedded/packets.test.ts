import { Buffer } from 'node:buffer'
import { describe, expect, test } from 'vitest'
import { Filters, isFilter, isMatch } from '../filters.ts'
import { AckRing } from './ack-ring.ts'
import { isTopicName, locate, type Span } from './packets.ts'
import { UnparsedBytes } from './unparsed-bytes.ts'

function located(...bytes: number[]) {
  const span: Span = { first: 0, bodyStart: 0, end: 0 }
  return [locate(Buffer.from(bytes), 0, span), span.end] as const
}

describe('a fixed header', () => {
  test.each([
    ['a header without its length', [0x30], ['incomplete', 0]],
    ['a header with half its length', [0x30, 0x80], ['incomplete', 0]],
    ['an empty packet', [0xc0, 0x00], ['complete', 2]],
    ['a packet that is still to come', [0x30, 0x05, 0x01], ['incomplete', 7]],
    ['two length bytes', [0x30, 0x80, 0x01], ['incomplete', 131]],
    ['the longest packet', [0x30, 0xff, 0xff, 0xff, 0x7f], ['incomplete', 268_435_460]],
    ['five length bytes', [0x30, 0xff, 0xff, 0xff, 0xff, 0x01], ['malformed', 0]],
  ] as const)('%s', (_, bytes, expected) => {
    expect(located(...bytes)).toEqual(expected)
  })
})

test.each([
  ['fleet/a/telemetry', true],
  ['fleet/a//x', true],
  ['', false],
  ['fleet/a/#', false],
  ['fleet/+/x', false],
  ['fleet/a/../x', false],
  ['fleet/a/..x', true],
  ['fleet/a/\0', false],
  ['a/b/c/d/e', false],
  ['\u00e9'.repeat(13), false],
])('topic name %j: %s', (topic, expected) => {
  expect(isTopicName(topic, { bytes: 25, levels: 4 })).toBe(expected)
})

test.each([
  ['#', 'a/b', true],
  ['a/#', 'a', true],
  ['a/#', 'ab', false],
  ['+', 'a', true],
  ['+', 'a/b', false],
  ['a/+', 'a', false],
  ['a/+', 'a/', true],
  ['a/+/c', 'a/b/c', true],
  ['a/b', 'a/b/c', false],
  ['a/b/c', 'a/b', false],
])('filter %j on %j: %s', (filter, topic, expected) => {
  expect(isMatch(filter, topic)).toBe(expected)
})

test.each([
  ['a/#', true],
  ['a/#/b', false],
  ['a#', false],
  ['a/+b', false],
  ['+/+', true],
  ['a/b/c/d', false],
])('filter %j is well formed: %s', (filter, expected) => {
  expect(isFilter(filter, 3)).toBe(expected)
})

test('the highest granted QoS of the matching filters counts', () => {
  const filters = new Filters()
  expect(filters.qosFor('command')).toBe(-1)
  filters.set('#', 0)
  filters.set('command', 2)
  filters.set('+', 1)
  expect(filters.qosFor('command')).toBe(2)
  expect(filters.qosFor('ota')).toBe(1)
  expect(filters.qosFor('shadow/desired')).toBe(0)
})

test('the ring gives back in order what it was given, while growing and wrapping', () => {
  const ring = new AckRing()
  const out: number[] = []
  let given = 0
  for (let round = 0; round < 200; round++) {
    for (let index = 0; index < round % 7; index++) ring.push(++given, 10)
    for (let index = 0; index < round % 6 && ring.count > 0; index++) out.push(ring.shift())
  }
  expect(ring.bytes).toBe(ring.count * 10)
  while (ring.count > 0) out.push(ring.shift())
  expect(out).toEqual(Array.from({ length: given }, (_, index) => index + 1))
  expect(ring.bytes).toBe(0)
  expect(() => ring.shift()).toThrow('more messages durable')
})

test('a carry grows with the bytes that come, not with the length that is claimed', () => {
  const carry = new UnparsedBytes()
  carry.keep(Buffer.from('ab'), 250_000)
  expect(carry.isWorthParsing).toBe(false)
  for (let index = 0; index < 5_000; index++) carry.add(Buffer.from('xy'))
  const taken = carry.take()
  expect(taken).toHaveLength(10_002)
  expect(taken.buffer.byteLength).toBeLessThan(40_000)
  expect(carry.isEmpty).toBe(true)
})
