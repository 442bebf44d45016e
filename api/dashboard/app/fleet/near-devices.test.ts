import { expect, test } from 'vitest'
import { nearDevices } from './near-devices.ts'
import { columnsOf, device } from './testing/fleet-model.ts'

const columns = columnsOf(
  device('pump-1'),
  device('pump-2'),
  device('robot-7'),
  device('robot-8', { status: 5 }),
)

test('an id with a typing error leads to the one that was meant, and to others that begin so', () => {
  expect(nearDevices('pmup-2', columns, 5)).toEqual(['pump-2'])
  expect(nearDevices('pump-9', columns, 5)).toEqual(['pump-1', 'pump-2'])
  expect(nearDevices('pump-12345', columns, 1)).toEqual(['pump-1'])
})

test('nothing is offered that is not near, and no device that is decommissioned', () => {
  expect(nearDevices('valve', columns, 5)).toEqual([])
  expect(nearDevices('robot-8', columns, 5)).toEqual(['robot-7'])
})
