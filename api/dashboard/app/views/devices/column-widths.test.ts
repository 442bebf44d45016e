import { describe, expect, test } from 'vitest'
import { columnWidths, type ShownTexts } from './column-widths.ts'

/** Ten pixels a letter. */
const measure = (text: string) => 10 * text.length

function widths(more: { readonly ids?: readonly string[]; readonly groups?: readonly string[] }) {
  const columns = {
    ids: more.ids ?? [],
    groups: { words: more.groups ?? [''] },
    types: { words: ['', 'gateway'] },
    firmwares: { words: [''] },
  }
  // The lists of the index, of which only the words are looked at.
  const shown = { columns, nameOf: (id: string) => id, wordsOf: { status: ['online', 'maintenance'] } }
  return columnWidths(shown as unknown as ShownTexts, measure)
}

describe('the columns of the list', () => {
  test('are as wide as the widest of what they show, and the names take the rest', () => {
    const { id, group, type, status, name } = widths({
      ids: ['a', 'robot-1234'],
      groups: ['', 'eu', 'eu/site-3'],
    })
    expect([id.leastPx, group.leastPx, type.leastPx, status.leastPx]).toEqual([118, 108, 88, 128])
    expect([id.grow, group.grow, type.grow, name.grow]).toEqual([undefined, undefined, undefined, 3])
  })

  test('are never narrower than their names, and a text that is too long does not push the others out', () => {
    const { group, firmware } = widths({ groups: ['', 'x'.repeat(300)] })
    expect(group.leastPx).toBe(200)
    expect(firmware.leastPx).toBe(104)
  })
})
