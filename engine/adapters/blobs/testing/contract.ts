// The contract that every adapter's test runs.
import { createHash, randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Blobs, OpenBlob } from '../../../ports/blobs.ts'

export interface BlobsContract {
  readonly name: string
  open(): Promise<Blobs>
  /** Opens the same blobs after a restart of the process. Left out by adapters in memory. */
  restart?(blobs: Blobs): Promise<Blobs>
  close(blobs: Blobs): Promise<void>
}

const MIB = 1024 * 1024
const MAX = 64 * MIB

async function* chunks(content: Buffer, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

async function* failing(content: Buffer): AsyncGenerator<Uint8Array> {
  yield* chunks(content)
  throw new Error('the client went away')
}

async function read(blob: OpenBlob | undefined): Promise<Buffer | undefined> {
  if (blob === undefined) return undefined
  const parts: Uint8Array[] = []
  const buffer = Buffer.alloc(100_000)
  for (let bytes = await blob.read(buffer); bytes > 0; bytes = await blob.read(buffer))
    parts.push(Buffer.from(buffer.subarray(0, bytes)))
  await blob.close()
  return Buffer.concat(parts)
}

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex')

export function blobsContract({ name, open, restart, close }: BlobsContract): void {
  describe(`blobs: ${name}`, () => {
    let blobs: Blobs
    beforeEach(async () => {
      blobs = await open()
    })
    afterEach(() => close(blobs))

    test.each([
      ['empty', 0],
      ['small', 10_000],
      ['one part large', 5 * MIB],
      ['several parts large', 12 * MIB + 7],
    ])('a blob that is %s is stored unchanged, with its size and hash', async (_, bytes) => {
      const content = randomBytes(bytes)
      expect(await blobs.put('a/b.bin', chunks(content), MAX)).toEqual({
        kind: 'put',
        bytes,
        sha256: sha256(content),
      })
      if (restart !== undefined) blobs = await restart(blobs)
      expect(await blobs.head('a/b.bin')).toEqual({ key: 'a/b.bin', bytes })
      expect((await read(await blobs.open('a/b.bin')))?.equals(content)).toBe(true)
    })

    test('a range returns the bytes between its ends', async () => {
      const content = randomBytes(300_000)
      await blobs.put('a', chunks(content), MAX)
      for (const [from, to] of [
        [0, 1],
        [1, 300_000],
        [299_999, 300_000],
        [70_000, 140_000],
      ] as const)
        expect((await read(await blobs.open('a', { from, to })))?.equals(content.subarray(from, to))).toBe(
          true,
        )
    })

    test('an open blob tells the size of the whole, and need not be read to its end', async () => {
      await blobs.put('a', chunks(randomBytes(3 * MIB)), MAX)
      for (const range of [undefined, { from: 5, to: 2 * MIB }]) {
        const blob = await blobs.open('a', range)
        expect(blob?.bytes).toBe(3 * MIB)
        expect(await blob?.read(Buffer.alloc(10))).toBeGreaterThan(0)
        await blob?.close()
      }
    })

    test('a later blob replaces an earlier one of the same key', async () => {
      await blobs.put('a', chunks(randomBytes(6 * MIB)), MAX)
      const content = Buffer.from('later')
      await blobs.put('a', chunks(content), MAX)
      expect(await blobs.head('a')).toEqual({ key: 'a', bytes: 5 })
      expect(await read(await blobs.open('a'))).toEqual(content)
    })

    test.each([
      ['small', 100],
      ['several parts large', 11 * MIB],
    ])(
      'an upload that is too large or breaks off, even %s, stores nothing and keeps the earlier blob',
      async (_, bytes) => {
        const content = randomBytes(bytes)
        await blobs.put('old', chunks(Buffer.from('old')), MAX)
        for (const key of ['old', 'new']) {
          expect(await blobs.put(key, chunks(content), bytes - 1)).toEqual({ kind: 'too_large' })
          await expect(blobs.put(key, failing(content), MAX)).rejects.toThrow('the client went away')
        }
        expect(await blobs.head('new')).toBeUndefined()
        expect(await read(await blobs.open('old'))).toEqual(Buffer.from('old'))
        expect(await blobs.list({ prefix: '', limit: 10 })).toEqual([{ key: 'old', bytes: 3 }])
      },
    )

    test('a missing blob is not found, and deleting it does nothing', async () => {
      expect([await blobs.head('a'), await blobs.open('a')]).toEqual([undefined, undefined])
      await blobs.delete('a')
      await blobs.put('a', chunks(Buffer.from('x')), MAX)
      await blobs.delete('a')
      if (restart !== undefined) blobs = await restart(blobs)
      expect([await blobs.head('a'), await blobs.list({ prefix: '', limit: 10 })]).toEqual([undefined, []])
    })

    test('blobs are listed by prefix in the order of their keys, page by page', async () => {
      const keys = ['fw/a-1.bin', 'fw/a.bin', 'fw/a_1.bin', 'fw/B.bin', 'fx/a.bin', 'f.bin']
      for (const key of keys) await blobs.put(key, chunks(Buffer.from(key)), MAX)
      const list = async (after: string | undefined, limit: number) =>
        (await blobs.list({ prefix: 'fw/', after, limit })).map(({ key }) => key)
      expect(await list(undefined, 10)).toEqual(['fw/B.bin', 'fw/a-1.bin', 'fw/a.bin', 'fw/a_1.bin'])
      expect(await list(undefined, 2)).toEqual(['fw/B.bin', 'fw/a-1.bin'])
      expect(await list('fw/a-1.bin', 2)).toEqual(['fw/a.bin', 'fw/a_1.bin'])
      expect(await list('fw/a_1.bin', 2)).toEqual([])
      expect(await blobs.list({ prefix: 'fx', limit: 1 })).toEqual([{ key: 'fx/a.bin', bytes: 8 }])
    })

    test.each(['', '../a', 'a/../b', '/a', 'a/', 'a//b', '.a', 'a+b', 'ä', 'x'.repeat(201)])(
      'the key %j is refused',
      async (key) => {
        await expect(blobs.put(key, chunks(Buffer.from('x')), MAX)).rejects.toThrow('malformed')
        await expect(blobs.open(key)).rejects.toThrow('malformed')
        await expect(blobs.delete(key)).rejects.toThrow('malformed')
      },
    )
  })
}
