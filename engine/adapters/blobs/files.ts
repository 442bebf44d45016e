// Blobs as files of one directory, named after their keys. A blob is written to another folder, synced and renamed, so
// it is never visible in part. Blobs leave the room on their disk with which the log can go on: without it, no message of a
// device could be acknowledged.
import { randomUUID } from 'node:crypto'
import { closeSync, fstatSync, openSync, read } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { LIMITS } from '../../limits.ts'
import type { BlobFacts, BlobPage, Blobs, OpenBlob, PutBlob } from '../../ports/blobs.ts'
import { Fault } from '../../ports/fault.ts'
import { diskBudget, freeBytes } from '../data-dir/disk-budget.ts'
import { checkedKey, Meter, TooLargeError } from './content.ts'

const readFile = promisify(read)
const CONTENT = 'content'
const UNFINISHED = 'unfinished'
/** Stands for `/` in file names. Keys cannot contain it. */
const SLASH = '+'

/** Only one process at a time may use a directory. Uploads that its predecessor did not finish are removed. */
export async function openFileBlobs(path: string): Promise<Blobs> {
  await withFault(async () => {
    await rm(join(path, UNFINISHED), { recursive: true, force: true })
    for (const folder of [CONTENT, UNFINISHED]) await mkdir(join(path, folder), { recursive: true })
  })
  return new FileBlobs(path)
}

class NoRoomError extends Error {}

class FileBlobs implements Blobs {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  async put(key: string, content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<PutBlob> {
    const target = this.#fileOf(key)
    const unfinished = join(this.#path, UNFINISHED, randomUUID())
    const meter = new Meter()
    try {
      await write(unfinished, meter.read(content, bytesMax))
      await withFault(() => rename(unfinished, target))
      await withFault(() => this.#sync())
      return meter.result()
    } catch (error) {
      await withFault(() => rm(unfinished, { force: true }))
      if (error instanceof TooLargeError) return { kind: 'too_large' }
      if (isFull(error)) return { kind: 'full' }
      throw error
    }
  }

  async head(key: string): Promise<BlobFacts | undefined> {
    const path = this.#fileOf(key)
    const found = await withFault(() => ifExists(() => stat(path)))
    return found && { key, bytes: found.size }
  }

  async open(
    key: string,
    range?: { readonly from: number; readonly to: number },
  ): Promise<OpenBlob | undefined> {
    const path = this.#fileOf(key)
    // Handing these two calls to another thread would cost several times as much, and every range of an image opens a file.
    const file = await withFault(() => ifExists(async () => openSync(path, 'r')))
    if (file === undefined) return undefined
    try {
      const { size: bytes } = await withFault(async () => fstatSync(file))
      return openFile(file, { bytes, from: range?.from ?? 0, to: Math.min(range?.to ?? bytes, bytes) })
    } catch (error) {
      closeSync(file)
      throw error
    }
  }

  async delete(key: string): Promise<void> {
    const path = this.#fileOf(key)
    await withFault(async () => {
      await rm(path, { force: true })
      await this.#sync()
    })
  }

  async list({ prefix, after = '', limit }: BlobPage): Promise<readonly BlobFacts[]> {
    const names = await withFault(() => readdir(join(this.#path, CONTENT)))
    const keys = names
      .map((name) => name.replaceAll(SLASH, '/'))
      .filter((key) => key.startsWith(prefix) && key > after)
      .sort()
      .slice(0, Math.min(limit, LIMITS.blobsListedMax))
    const facts = await Promise.all(keys.map((key) => this.head(key)))
    return facts.flatMap((fact) => fact ?? [])
  }

  #fileOf(key: string): string {
    return join(this.#path, CONTENT, checkedKey(key).replaceAll('/', SLASH))
  }

  /** Makes renames durable: file names are stored in the directory. */
  async #sync(): Promise<void> {
    const directory = await open(join(this.#path, CONTENT), 'r')
    try {
      await directory.sync()
    } finally {
      await directory.close()
    }
  }
}

function openFile(file: number, part: { bytes: number; from: number; to: number }): OpenBlob {
  let position = part.from
  let isClosed = false
  return {
    bytes: part.bytes,
    async read(into) {
      const wanted = Math.min(into.length, part.to - position)
      if (wanted <= 0) return 0
      const { bytesRead } = await withFault(() => readFile(file, into, 0, wanted, position))
      position += bytesRead
      return bytesRead
    },
    async close() {
      // The number may belong to another file by now.
      if (!isClosed) closeSync(file)
      isClosed = true
    },
  }
}

/** Errors of the content itself are passed on unchanged. */
async function write(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await withFault(() => open(path, 'wx'))
  try {
    const { lowBytes } = diskBudget(path)
    for await (const chunks of inLargerChunks(content)) {
      if (freeBytes(path) < lowBytes) throw new NoRoomError('the rest of the disk is left to the log')
      await withFault(() => writeAll(file, chunks))
    }
    await withFault(() => file.sync())
  } finally {
    await file.close()
  }
}

/** Network chunks are small, and each write is a system call on another thread, so chunks are written together. */
async function* inLargerChunks(content: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Uint8Array[]> {
  let [chunks, bytes]: [Uint8Array[], number] = [[], 0]
  for await (const chunk of content) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes < LIMITS.blobWriteBytes) continue
    yield chunks
    ;[chunks, bytes] = [[], 0]
  }
  if (bytes > 0) yield chunks
}

/** A nearly full disk accepts part of the chunks, and reports the error only when it is given the rest. */
async function writeAll(file: FileHandle, chunks: readonly Uint8Array[]): Promise<void> {
  const { bytesWritten } = await file.writev(chunks)
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
  if (bytesWritten < bytes) await file.writeFile(Buffer.concat(chunks).subarray(bytesWritten))
}

async function ifExists<T>(find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function withFault<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (cause) {
    const message = `the directory of blobs cannot be used: ${codeOf(cause)}`
    throw new Fault('BLOBS_UNAVAILABLE', { retryable: true, message, cause })
  }
}

const isFull = (error: unknown) =>
  error instanceof NoRoomError ||
  (error instanceof Fault && ['ENOSPC', 'EDQUOT'].includes(codeOf(error.cause)))

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
