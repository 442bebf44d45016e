// A file that is read piece by piece while it is being sent, and reports its progress.

import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { ReadableStream } from 'node:stream/web'
import { errorText } from '../../schemas/error-text.ts'
import { EXIT, Failure } from './failure.ts'

class CountedFile extends File {
  readonly #onRead: (bytes: number) => void

  constructor(content: Blob, name: string, onRead: (bytes: number) => void) {
    super([content], name)
    this.#onRead = onRead
  }

  /** Called by `fetch` to read the file. */
  override stream(): ReadableStream<Uint8Array> {
    const read = this.#onRead
    let bytes = 0
    return super.stream().pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(piece, next) {
          bytes += piece.length
          read(bytes)
          next.enqueue(piece)
        },
      }),
    )
  }
}

/** `onRead` is called with the number of bytes read so far. */
export async function openCounted(path: string, onRead: (bytes: number) => void): Promise<File> {
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    (error: unknown) => {
      const why = errorText(error)
      throw new Failure(EXIT.usage, `${path} cannot be read: ${why}`)
    },
  )
  if (!isFile) throw new Failure(EXIT.usage, `${path} is not a file`)
  return new CountedFile(await openAsBlob(path), basename(path), onRead)
}
