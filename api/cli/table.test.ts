import { expect, test } from 'vitest'
import { cellText, clean, fieldsText, tableText } from './table.ts'

const TERMINAL = { isTerminal: true, isColoured: false, width: 40 }
const PIPE = { isTerminal: false, isColoured: false, width: 40 }
const HEAD = ['ID', 'STATUS', 'NAME']
const ROWS = [
  ['a', 'online', 'first'],
  ['robot-17', 'offline', 'a name that is longer than the line'],
]

test('on a terminal, columns are aligned under their titles and lines are cut to its width', () => {
  expect(tableText(HEAD, ROWS, TERMINAL)).toBe(
    'ID        STATUS   NAME\na         online   first\nrobot-17  offline  a name that is longe…\n',
  )
})

test('without a terminal, rows are only tab-separated values', () => {
  expect(tableText(HEAD, ROWS, PIPE)).toBe(
    'a\tonline\tfirst\nrobot-17\toffline\ta name that is longer than the line\n',
  )
  expect(fieldsText([['id', 'a']], PIPE)).toBe('id\ta\n')
})

test('titles and status words are coloured if colours are enabled', () => {
  const look = { ...TERMINAL, isColoured: true }
  expect(tableText(['S'], [['online'], ['strange']], look)).toBe(
    '\u001b[1mS\u001b[0m\n\u001b[32monline\u001b[0m\nstrange\n',
  )
  expect(fieldsText([['a', 'x']], TERMINAL)).toBe('a  x\n')
})

test('text from a device can neither control the terminal nor break a line', () => {
  expect(clean('a\u001b[2Jb\nc\td\u009b0m\u0007')).toBe('a\ufffd[2Jb c d\ufffd0m\ufffd')
  expect(cellText({ name: '\u001b]0;x\u0007' }, PIPE)).toBe('{"name":"\\u001b]0;x\\u0007"}')
})

test.each([
  [null, '-', ''],
  [[], '', ''],
  [['a', 'b'], 'a,b', 'a,b'],
  [0, '0', '0'],
  [false, 'false', 'false'],
  [{ a: 1 }, '{"a":1}', '{"a":1}'],
])('the cell of %j', (value, terminal, pipe) => {
  expect([cellText(value, TERMINAL), cellText(value, PIPE)]).toEqual([terminal, pipe])
})
