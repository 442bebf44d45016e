import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { type FormOptions, readForm } from './multipart.ts'

const FIELD_BYTES = LIMITS.uploadFieldBytesMax

function partOf(name: string, value: string, filename = ''): string {
  return `--b\r\ncontent-disposition: form-data; name="${name}"${filename}\r\n\r\n${value}\r\n`
}

const FILE_BYTES = 1024 * 1024

function read(body: string | Iterable<Buffer>, take: FormOptions<string>['consume']) {
  return readForm(Readable.from(typeof body === 'string' ? [Buffer.from(body)] : body), {
    fileBytesMax: FILE_BYTES,
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

function* longBody(start: string) {
  yield Buffer.from(start)
  for (let pieces = 0; pieces < 10_000; pieces++) yield Buffer.alloc(1024, 'x')
}

test.each([
  ['a second file', partOf('file', 'image', '; filename="f"') + partOf('file', 'x', '; filename="g"')],
  ['a field', partOf('version', 'x')],
  ['a part without a name', '--b\r\n\r\n'],
  ['a text before the first part', 'x'],
])('%s that does not end is refused once the body is longer than it may be', async (_, start) => {
  const form = await read(longBody(start.replace(/\r\n$/, '')), async (content) => {
    for await (const piece of content) void piece
    return 'read'
  })
  expect(form).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', detail: { limit: FILE_BYTES } })
})
