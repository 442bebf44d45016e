import { expect, test } from 'vitest'
import { bulkParts } from './bulk-parts.ts'

test('a file with as many devices as the service takes at once is not split', () => {
  const text = 'device_id,name\r\n\r\na,"A"\r\nb,B\r\n'
  expect(bulkParts(text, 'csv', 2)).toEqual([{ text, rows: 2 }])
  expect(bulkParts('', 'ndjson', 2)).toEqual([{ text: '', rows: 0 }])
})

test('each part of a larger CSV file has the header, and a quoted line break does not end a row', () => {
  const text = 'device_id,name\r\na,"A ""x""\nof two lines"\r\nb,B\r\n\r\nc,C\n'
  expect(bulkParts(text, 'csv', 2)).toEqual([
    { text: 'device_id,name\na,"A ""x""\nof two lines"\nb,B', rows: 2 },
    { text: 'device_id,name\nc,C', rows: 1 },
  ])
})

test('lines of JSON are split only between lines', () => {
  expect(bulkParts('{"a":1}\n\n{"a":2}\r\n{"a":3}', 'ndjson', 1)).toEqual([
    { text: '{"a":1}', rows: 1 },
    { text: '{"a":2}\r', rows: 1 },
    { text: '{"a":3}', rows: 1 },
  ])
})
