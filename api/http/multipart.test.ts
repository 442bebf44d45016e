import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { type FormOptions, readForm } from './multipart.ts'

const FIELD_BYTES = LIMITS.uploadFieldBytesMax

function partOf(name: string, value: string, filename = ''): string {
  return `--b\r\ncontent-disposition: form-data; name="${name}"${filename}\r\n\r\n${value}\r\n`
}

function read(body: string, take: FormOptions<string>['consume']) {
  return readForm(Readable.from([Buffer.from(body)]), {
    contentType: 'multipart/form-data; boundary=b',
    silenceMs: 30_000,
    fileFields: ['file'],
    consume: take,
    discard: async () => {},
    refuse: () => undefined,
  })
}

test.each([
  ['a field that is too long', partOf('version', 'x'.repeat(FIELD_BYTES + 1)), 'VALIDATION_FAILED'],
  ['too many parts', partOf('more', 'x').repeat(LIMITS.uploadPartsMax), 'VALIDATION_FAILED'],
  ['an end before the end', '', 'BAD_REQUEST'],
])('a form with %s is refused while its file still waits for its place', async (_, rest, code) => {
  let open = () => {}
  const place = new Promise<void>((resolve) => {
    open = resolve
  })
  const file = partOf('file', 'image', '; filename="f.bin"')
  const form = read(`${file}${rest}${rest === '' ? '' : '--b--\r\n'}`, async (content) => {
    await place
    let text = ''
    for await (const piece of content) text += Buffer.from(piece).toString()
    return text
  })
  // Both streams have now processed all events of each other.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  open()
  expect(await form).toMatchObject({ kind: 'refused', code })
})
