import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { LIMITS } from '../limits.ts'
import { idOf } from './frames-harness.ts'
import { partitionOf, partitionsOfShards } from './partition.ts'

test('a device is in the partition that the first 32 bits of its md5 say', () => {
  const hex = createHash('md5').update('dev_a').digest('hex').slice(0, 8)
  expect(partitionOf(idOf('dev_a'))).toBe(Number.parseInt(hex, 16) % 64)
  // Fixed with the data: another answer would look for a device's past where it is not.
  expect(['a', 'robot-1', 'dev_01J'].map((id) => partitionOf(idOf(id)))).toEqual([57, 8, 13])
})

test('partitions are evenly filled', () => {
  const filled = new Array<number>(LIMITS.partitions).fill(0)
  for (let i = 0; i < 64_000; i++) {
    const partition = partitionOf(idOf(`device-${i}`))
    filled[partition] = (filled[partition] ?? 0) + 1
  }
  expect(Math.min(...filled)).toBeGreaterThan(850)
  expect(Math.max(...filled)).toBeLessThan(1_150)
})

test('each partition has one shard, and shards have alike many', () => {
  for (const shards of [1, 2, 3, 7, 64]) {
    const dealt = partitionsOfShards(shards)
    expect(dealt.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 64 }, (_, i) => i))
    const sizes = dealt.map(({ length }) => length)
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
  }
})
