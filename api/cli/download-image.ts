// Downloads a firmware image to a file. It is streamed and hashed as it arrives, and gets its final name only when
// complete, so the remains of a broken download are never taken for an image.
import { createHash } from 'node:crypto'
import { createWriteStream, existsSync } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type { FirmwareBody } from '../../schemas/firmware.ts'
import { EXIT, Failure, refusalExit } from './failure.ts'

interface DownloadOptions {
  readonly url: string
  readonly token: string
  readonly signal: AbortSignal
  /** Called with the number of bytes that have arrived. */
  readonly progress: (bytes: number) => void
}

export async function downloadImage(
  { firmware_id, sha256 }: Pick<FirmwareBody, 'firmware_id' | 'sha256'>,
  path: string,
  { url, token, signal, progress }: DownloadOptions,
): Promise<void> {
  if (existsSync(path))
    throw new Failure(EXIT.conflict, `${path} exists; name another file, or remove it first`)
  const response = await fetch(`${url}/api/v1/ota/firmware/${encodeURIComponent(firmware_id)}/file`, {
    headers: { authorization: `Bearer ${token}` },
    signal,
  })
  if (response.status !== 200 || response.body === null)
    throw new Failure(
      refusalExit(response.status),
      `the service answered ${response.status} instead of the image`,
    )
  const part = `${path}.${process.pid}.part`
  const hash = createHash('sha256')
  let bytes = 0
  try {
    // At run time this is a web stream, which fetch declares with the browser's type.
    const body = Readable.fromWeb(response.body as ReadableStream<Uint8Array>)
    const counted = async function* (pieces: AsyncIterable<Uint8Array>) {
      for await (const piece of pieces) {
        hash.update(piece)
        bytes += piece.length
        progress(bytes)
        yield piece
      }
    }
    await pipeline(body, counted, createWriteStream(part, { flags: 'wx' }), { signal })
    const actual = hash.digest('hex')
    if (actual !== sha256)
      throw new Failure(
        EXIT.failed,
        `the image has SHA-256 ${actual} instead of ${sha256}; download it again`,
      )
    // Fails if the file was created meanwhile.
    await link(part, path)
  } finally {
    await rm(part, { force: true })
  }
}
