import { expect, test } from 'vitest'
import { toFilename } from './filename.ts'

test.each([
  ['image.bin', 'image.bin'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\builds\\image.bin', 'image.bin'],
  ['/', 'firmware.bin'],
  ['..', 'firmware.bin'],
  ['a/..', 'firmware.bin'],
  ['', 'firmware.bin'],
  [undefined, 'firmware.bin'],
  ['a\r\nSet-Cookie: x\u0000.bin', 'aSet-Cookie: x.bin'],
  ['ev\u202Enib.exe', 'evnib.exe'],
  ['\uD800x', 'x'],
  ['größe.bin', 'größe.bin'],
  ['x'.repeat(300), 'x'.repeat(255)],
  ['🤖'.repeat(200), '🤖'.repeat(127)],
  [`x${'🤖'.repeat(200)}`, `x${'🤖'.repeat(127)}`],
])('%j becomes %j', (given, name) => {
  expect(toFilename(given)).toBe(name)
})
