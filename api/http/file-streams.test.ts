import { once } from 'node:events'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { API_LIMITS } from '../limits.ts'
import { FileStreams } from './file-streams.ts'

/** A file whose reader takes nothing. */
const slow = () => new Readable({ read() {} })

test('a caller who reads slowly leaves places for the files of others, and gets one when a file has ended', async () => {
  const files = new FileStreams()
  const held = Array.from({ length: API_LIMITS.filesPerCallerMax }, slow)
  for (const bytes of held) expect(files.refuse('vic', bytes)).toBeUndefined()
  const beyond = slow()
  expect(files.refuse('vic', beyond)).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
  expect(beyond.destroyed).toBe(true)
  expect(files.refuse('ada', slow())).toBeUndefined()
  const [first] = held
  if (first === undefined) throw new Error('no file is sent')
  first.destroy()
  await once(first, 'close')
  expect(files.refuse('vic', slow())).toBeUndefined()
})
