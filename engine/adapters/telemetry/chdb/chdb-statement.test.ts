import { expect, test } from 'vitest'
import { quote, toFileInsert, toSet, toUrlInsert } from './chdb-statement.ts'

test('an insert with its rows in the body reads them from a file', () => {
  const insert = toFileInsert(
    "INSERT INTO t SELECT a FROM input('a String, b DateTime(\\'UTC\\')') ARRAY JOIN b FORMAT Native",
  )
  expect(insert?.('/x/$&')).toBe(
    "INSERT INTO t SELECT a FROM file('/x/$&', 'Native', 'a String, b DateTime(\\'UTC\\')') ARRAY JOIN b",
  )
  expect(toFileInsert('INSERT INTO t VALUES (1)')).toBeUndefined()
  expect(toFileInsert('SELECT 1 FORMAT Native')).toBeUndefined()
})

test('a query to be streamed sends its rows in the format that it names', () => {
  expect(toUrlInsert('SELECT 1 FORMAT CSV', 'http://x')).toBe(
    "INSERT INTO FUNCTION url('http://x', 'CSV') SELECT 1",
  )
})

test('a value stays within its literal', () => {
  expect(quote("it's \\ '; DROP \0")).toBe("'it\\'s \\\\ \\'; DROP \\0'")
})

test('the settings of the last request are undone', () => {
  const first = new Map([['max_result_bytes', '10']])
  expect(toSet(new Map([['a', '1']]), ['a', 'b', 'max_result_bytes'], first)).toBe(
    "SET a='1', b=DEFAULT, max_result_bytes='10'; ",
  )
  expect(toSet(new Map(), [], first)).toBe('')
})
