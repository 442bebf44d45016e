import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parsePictureHead } from './picture-head.ts'
import { jpeg, png, webp } from './testing/pictures.ts'

test.each([
  ['image/png', png],
  ['image/jpeg', jpeg],
  ['image/webp', (width: number, height: number) => webp('VP8 ', width, height)],
  ['image/webp', (width: number, height: number) => webp('VP8L', width, height)],
  ['image/webp', (width: number, height: number) => webp('VP8X', width, height)],
] as const)('the size of a picture of type %s is read', (type, make) => {
  const side = fc.integer({ min: 1, max: 16_383 })
  fc.assert(
    fc.property(side, side, (width, height) => {
      expect(parsePictureHead(make(width, height))).toEqual({ type, width, height })
    }),
  )
})

test('pictures written by a browser have the size they were created with', () => {
  const folder = new URL('../dashboard/pictures/', import.meta.url)
  const names = readdirSync(folder).filter((name) => name.endsWith('.webp'))
  expect(names).not.toEqual([])
  for (const name of names) {
    const { width = 0, height = 0 } = parsePictureHead(readFileSync(new URL(name, folder))) ?? {}
    expect([width, height].map((side) => side > 300 && side < 4_000)).toEqual([true, true])
  }
})

test('a truncated picture or one without a size is not recognised', () => {
  for (const whole of [png(7, 9), jpeg(7, 9), webp('VP8 ', 7, 9), webp('VP8X', 7, 9)])
    expect(parsePictureHead(whole.subarray(0, 22))).toBeUndefined()
  for (const empty of [png(0, 9), jpeg(7, 0), webp('VP8 ', 0, 0)])
    expect(parsePictureHead(empty)).toBeUndefined()
  // A segment with length zero still ends the search.
  expect(parsePictureHead(Buffer.from(`\xff\xd8${'\xff\xe0\0\0'.repeat(9)}`, 'latin1'))).toBeUndefined()
})

test('parsing ends for any bytes after a valid beginning', () => {
  const starts = ['\x89PNG\r\n\x1a\n', '\xff\xd8\xff', 'RIFF....WEBPVP8 ', 'RIFF....WEBPVP8L'] as const
  fc.assert(
    fc.property(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 64 }), (start, rest) => {
      const head = parsePictureHead(Buffer.concat([Buffer.from(start, 'latin1'), rest]))
      expect(head === undefined || (head.width > 0 && head.height > 0)).toBe(true)
    }),
  )
})
