import { expect, test } from 'vitest'
import { formatQuery, parseQuery } from './filter.ts'
import { toServerQuery } from './server-filter.ts'

const of = (text: string) => {
  const { filter, unknown } = toServerQuery(parseQuery(text))
  return [filter, formatQuery(unknown)]
}

test('words and keys become parameters of the list', () => {
  expect(of('pump status:Offline type:mqtt_device group:eu tag:a tag:b fw:1.4')).toEqual([
    {
      ...{ q: 'pump', status: 'offline', type: 'mqtt_device', group: 'eu', tag: ['a', 'b'] },
      firmware_version: '1.4',
    },
    '',
  ])
  expect(of('group:=eu')).toEqual([{ group: 'eu', group_exact: true }, ''])
})

test('what the service cannot judge is told and never left out in silence', () => {
  for (const text of ['seen:>10m', '-tag:a', 'status:online,error', 'is:attention', 'fw:<2', 'status:gone'])
    expect(of(text)).toEqual([{}, text])
  expect(of('one two')).toEqual([{ q: 'one' }, 'two'])
  // The service looks for the beginning of an id only.
  expect(of('id:=robot-1')).toEqual([{}, 'id:=robot-1'])
})

test('a term that is still being typed asks for nothing', () => {
  expect(of('group:')).toEqual([{}, ''])
})
