import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cellText } from './cell-text.ts'

const letters = (text: string) => text.length

describe('the text of a cell', () => {
  test('a name that fits is written, else the id, else the last words of either', () => {
    const robot = { name: 'Simulated robot 12', id: 'sim-12' }
    expect(cellText(robot, 18, letters)).toBe('Simulated robot 12')
    expect(cellText(robot, 7, letters)).toBe('sim-12')
    expect(cellText({ ...robot, id: 'simulated-12' }, 8, letters)).toBe('robot 12')
    expect(cellText({ ...robot, id: 'simulated-12' }, 7, letters)).toBe('12')
    expect(cellText({ name: 'Halle', id: 'hall-017' }, 4, letters)).toBe('017')
  })

  test('the end of a name is cut where no word fits', () => {
    expect(cellText({ name: 'Zentrifuge', id: 'zentrifuge' }, 6, letters)).toBe('…ifuge')
    expect(cellText({ name: 'Zentrifuge', id: 'zentrifuge' }, 3, letters)).toBe('')
  })

  test('it is never wider than its cell', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.nat(40), (name, id, width) => {
        expect(cellText({ name, id }, width, letters).length).toBeLessThanOrEqual(width)
      }),
    )
  })
})
