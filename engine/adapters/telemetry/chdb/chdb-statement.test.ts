import { expect, test } from 'vitest'
import { isRead, keepsState, parseBodyInsert, quote, splitInlineRows, toSet } from './chdb-statement.ts'

test('an insert with its rows in the body reads them from a file', () => {
  const from = (statement: string) => parseBodyInsert(statement)?.from('/x/y')
  expect(from('INSERT INTO t (a, b) FORMAT Native')).toBe(
    "INSERT INTO t (a, b) SELECT * FROM file('/x/y', 'Native')",
  )
  expect(from('insert into t format CSV;\n')).toBe("insert into t SELECT * FROM file('/x/y', 'CSV')")
  expect(
    from("INSERT INTO t SELECT a FROM input('a String, b DateTime(\\'UTC\\')') ARRAY JOIN b FORMAT Native"),
  ).toBe("INSERT INTO t SELECT a FROM file('/x/y', 'Native', 'a String, b DateTime(\\'UTC\\')') ARRAY JOIN b")
  expect(from('INSERT INTO t VALUES (1)')).toBeUndefined()
  expect(from('SELECT 1 FORMAT Native')).toBeUndefined()
})

test('rows behind the statement are told from the statement', () => {
  expect(splitInlineRows('INSERT INTO t FORMAT CSV\n1,2\n')).toEqual({
    statement: 'INSERT INTO t FORMAT CSV',
    rows: '1,2\n',
  })
  expect(splitInlineRows('INSERT INTO t FORMAT CSV\n')).toBeUndefined()
  expect(splitInlineRows("INSERT INTO t VALUES ('a FORMAT CSV\n')")).toBeUndefined()
  expect(splitInlineRows("INSERT INTO t FORMAT Values ('a FORMAT CSV\n')")).toBeUndefined()
})

test('a value stays within its literal', () => {
  expect(quote("it's \\ '; DROP \0")).toBe("'it\\'s \\\\ \\'; DROP \\0'")
})

test('what the last request set is undone', () => {
  const first = new Map([['max_result_bytes', '10']])
  expect(toSet(new Map([['a', '1']]), ['a', 'b', 'max_result_bytes'], first)).toBe(
    "SET a='1', b=DEFAULT, max_result_bytes='10'; ",
  )
  expect(toSet(new Map(), [], first)).toBe('')
})

test('reads and statements that leave something behind are known by their first word', () => {
  expect(
    ['SELECT 1', '\n with x as (select 1) select 2', '(SELECT 1)', 'SHOW TABLES'].map(isRead),
  ).not.toContain(false)
  expect(['INSERT INTO t VALUES (1)', 'DROP TABLE t', 'SELECTED', 'SET a = 1'].map(isRead)).not.toContain(
    true,
  )
  expect(['SET a = 1', ' use x', 'CREATE TEMPORARY TABLE t (a Int8)'].map(keepsState)).not.toContain(false)
  expect(['SELECT 1', 'CREATE TABLE t (a Int8)'].map(keepsState)).not.toContain(true)
})
