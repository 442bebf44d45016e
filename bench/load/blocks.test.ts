import { expect, test } from 'vitest'
import { BlockMaker } from './blocks.ts'

test('a block counts the points of its reports', () => {
  const maker = new BlockMaker(['a', 'b'])
  const report = { deviceId: 'd1', at: 1e15, receivedAt: 1e15, version: 1, values: [1, 2] }
  maker.add(report)
  maker.add({ ...report, deviceId: 'd2' })
  expect(maker.rows).toBe(2)
  expect(maker.take()).toMatchObject({ kind: 'points', rows: 4 })
  expect(() => maker.take()).toThrow('an empty block')
})
