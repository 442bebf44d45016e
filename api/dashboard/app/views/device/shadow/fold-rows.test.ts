import { expect, test } from 'vitest'
import { shadowRows } from '../../../shadow-merge/rows.ts'
import { groupRows } from './fold-rows.ts'

test('leaves under one key are a group that says how many of them wait, and single ones stand alone', () => {
  const rows = shadowRows(
    { led: { colour: 'red', on: true }, mode: 'a' },
    { led: { on: true }, net: { port: 1 } },
  )
  expect(groupRows(rows).map(({ key, rows: of, waitingCount }) => [key, of.length, waitingCount])).toEqual([
    ['led', 2, 1],
    [undefined, 1, 1],
    [undefined, 1, 0],
  ])
})
