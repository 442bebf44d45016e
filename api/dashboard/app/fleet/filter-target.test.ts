import { expect, test } from 'vitest'
import { filterTarget } from './filter-target.ts'
import { columnsOf, device } from './testing/fleet-model.ts'

const columns = columnsOf(
  device('robot-1'),
  device('robot-10'),
  device('north-pump', { group: 'eu' }),
  device('pump-2', { name: 'robot-1 spare' }),
)
const FLEET = { columns, nowMs: 0, isWhole: true }

test('a filter that the service judges as the list does is left to the service', () => {
  expect(filterTarget('group:eu', FLEET)).toEqual({ type: 'query', value: { group: 'eu' } })
})

test('a word aims at the devices of the list, because the service looks for it at the beginning only', () => {
  expect(filterTarget('pump', FLEET)).toEqual({ type: 'devices', value: ['north-pump', 'pump-2'] })
})

test('an id aims at no device that only begins like it, or is named like it', () => {
  expect(filterTarget('id:=robot-1', FLEET)).toEqual({ type: 'devices', value: ['robot-1'] })
  expect(filterTarget('id:robot-1', FLEET)).toEqual({ type: 'devices', value: ['robot-1', 'robot-10'] })
})

test('a fleet that is larger than the index is judged by the service', () => {
  expect(filterTarget('pump', { ...FLEET, isWhole: false })).toEqual({ type: 'query', value: { q: 'pump' } })
})

test('a type in another letter case aims at the devices of the list, because the service takes it as it is written', () => {
  const devices = columns.ids.filter((_, row) => columns.isAlive[row] === 1)
  const type = columns.types.at(columns.type[0] ?? 0)
  expect(filterTarget(`type:${type.toUpperCase()}`, FLEET)).toEqual({ type: 'devices', value: devices })
  expect(filterTarget(`type:${type}`, FLEET)).toEqual({ type: 'query', value: { type } })
})
