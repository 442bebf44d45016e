import { expect, test } from 'vitest'
import { readStatus } from './status-message.ts'

const read = (fields: object) => readStatus(Buffer.from(JSON.stringify({ status: 'online', ...fields })))

test('white space around reported fields is ignored', () => {
  const sha256 = 'a'.repeat(64)
  expect(
    read({ firmware_version: ' 2.0.0\r\n', firmware_sha256: `${sha256}\n`, boot_id: 'b1\n' }),
  ).toMatchObject({
    firmwareVersion: '2.0.0',
    firmwareSha256: sha256,
    bootId: 'b1',
  })
})

test.each(['', ' \n', 7, null])('a version of %j counts as missing', (version) => {
  expect(read({ firmware_version: version })).toMatchObject({ kind: 'said', firmwareVersion: undefined })
})
