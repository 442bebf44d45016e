import { expect, test } from 'vitest'
import { toCsv, toNdjson } from './export-rows.ts'
import { columnsOf, device } from './testing/fleet-model.ts'

const named = (name: string) =>
  columnsOf(device('d1', { name, group: 'eu/a', tags: ['one', 'two'], seen: 1_772_353_865_250 }))

test('a file has a line for each row, with the tags and the time as texts', () => {
  expect(toCsv(named('Pump'), [0])).toBe(
    'device_id,name,type,group,tags,status,firmware_version,last_seen_at\r\n' +
      'd1,Pump,mqtt_device,eu/a,one;two,online,,2026-03-01T08:31:05.250Z\r\n',
  )
})

test('a name that a spreadsheet would run or break at is kept as a text', () => {
  expect(toCsv(named('=1+1'), [0])).toContain(",'=1+1,")
  expect(toCsv(named('a "b", c'), [0])).toContain(',"a ""b"", c",')
})

test('lines of JSON keep the name as it is', () => {
  expect(JSON.parse(toNdjson(named('=1+1'), [0]))).toMatchObject({
    device_id: 'd1',
    name: '=1+1',
    tags: ['one', 'two'],
  })
})
