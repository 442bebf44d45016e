import { expect, test } from 'vitest'
import { parseDeviceId } from '../../schemas/ids.ts'
import { partitionOf } from './partition.ts'

// Stored data depends on these: md5('a') begins with 0cc175b9, md5('robot-7') with d0adec4f.
test.each([
  ['a', 0x0cc175b9 % 64],
  ['robot-7', 0xd0adec4f % 64],
])('the partition of %s is the first 32 bits of its md5, modulo 64', (id, partition) => {
  const deviceId = parseDeviceId(id)
  if (deviceId === undefined) throw new Error(id)
  expect(partitionOf(deviceId)).toBe(partition)
})
