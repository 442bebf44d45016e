import { expect, test } from 'vitest'
import { fleetPaceMs, isThrifty } from './thrift.ts'

test('a line that saves data or is slow hears of the fleet every five seconds, any other twice a second', () => {
  const paceOf = (connection: object | undefined) => fleetPaceMs(isThrifty({ connection }))
  expect([{ saveData: true }, { rtt: 1500 }].map(paceOf)).toEqual([5000, 5000])
  // Not every browser knows its line.
  expect([{ saveData: false, rtt: 100 }, {}, undefined].map(paceOf)).toEqual([500, 500, 500])
})
