// The images of firmware: blobs that are stored as they arrive, and handed out only if their bytes match the record.
//
// I1. An image is stored before its record. After a crash it may have no record, or be there in part. It is removed once it
//     is so old that no upload can still be about to save one.
// I2. No byte goes out that does not match the record: the size is checked at every open, and the SHA-256 at the first
//     open since the start.
import { createHash } from 'node:crypto'
import type { FirmwareRecord } from '../../domain/ota/firmware-record.ts'
import { LIMITS } from '../../limits.ts'
import type { BlobAddress, Blobs, OpenBlob } from '../../ports/blobs.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { ImageAddress, OpenImage, StoredImage } from '../../ports/ota.ts'

const PREFIX = 'firmware/'

interface ImagesPorts {
  /** Undefined if no place for images is configured. */
  readonly blobs: Blobs | undefined
  readonly clock: Clock
  readonly newId: () => string
}

type ImageFacts = Pick<FirmwareRecord, 'imageKey' | 'sha256' | 'sizeBytes'>

export class Images {
  readonly #ports: ImagesPorts
  /** Whether the image under a key matches its record, and when that was checked. */
  readonly #checks = new Map<string, { readonly isIntact: Promise<boolean>; readonly at: number }>()

  constructor(ports: ImagesPorts) {
    this.#ports = ports
  }

  async store(content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<StoredImage> {
    const { clock, newId } = this.#ports
    const key = `${PREFIX}${clock.now()}-${newId()}`
    const put = await this.#blobs().put(key, content, bytesMax)
    return put.kind === 'put' ? { kind: 'stored', image: { key, bytes: put.bytes, sha256: put.sha256 } } : put
  }

  async remove(key: string): Promise<void> {
    this.#checks.delete(key)
    await this.#blobs().delete(key)
  }

  /** Whether there is an image of the right size. */
  async exists({ imageKey, sizeBytes }: ImageFacts): Promise<boolean> {
    return (await this.#blobs().head(imageKey))?.bytes === sizeBytes
  }

  async open(record: ImageFacts, range?: { readonly from: number; readonly to: number }): Promise<OpenImage> {
    const { imageKey, sizeBytes } = record
    if (!(await this.#isIntact(record))) return { kind: 'missing' }
    const blob = await this.#blobs().open(imageKey, range)
    if (blob?.bytes === sizeBytes) return { kind: 'open', blob }
    this.#checks.delete(imageKey)
    await blob?.close()
    return { kind: 'missing' }
  }

  /** Undefined if images can only be loaded through this process. Checks the bytes as `open` does (I2). */
  async address(record: ImageFacts, about: BlobAddress): Promise<ImageAddress | undefined> {
    const blobs = this.#blobs()
    if (blobs.address === undefined) return undefined
    if (!(await this.#isIntact(record))) return { kind: 'missing' }
    if (await this.exists(record))
      return { kind: 'address', url: await blobs.address(record.imageKey, about) }
    this.#checks.delete(record.imageKey)
    return { kind: 'missing' }
  }

  /** Reads a whole image that matches its record. */
  async *read(record: ImageFacts): AsyncGenerator<Uint8Array> {
    const opened = await this.open(record)
    if (opened.kind === 'missing') throw missing()
    yield* partsOf(opened.blob)
  }

  /** Removes images that have had no record for long enough (I1). `kept` is called after images are listed. */
  async sweep(kept: () => Promise<ReadonlySet<string>>): Promise<void> {
    const { blobs } = this.#ports
    if (blobs === undefined) return
    const before = this.#ports.clock.now() - LIMITS.imageOrphanMs
    for (let after: string | undefined; ; ) {
      const page = await blobs.list({ prefix: PREFIX, after, limit: LIMITS.blobsListedMax })
      const known = await kept()
      const gone = page.filter(({ key }) => !known.has(key) && uploadStartedAt(key) < before)
      for (const { key } of gone) await this.remove(key)
      after = page.at(-1)?.key
      if (page.length < LIMITS.blobsListedMax) break
    }
    await blobs.dropUnfinished?.({ prefix: PREFIX, isMeant: (key) => uploadStartedAt(key) < before })
  }

  /** Runs one check at a time per image. A failed check counts for a while, because each check reads the whole image. */
  async #isIntact(record: ImageFacts): Promise<boolean> {
    const { imageKey } = record
    const now = this.#ports.clock.ticks()
    const known = this.#checks.get(imageKey)
    if (known !== undefined && ((await known.isIntact) || now - known.at < LIMITS.imageCheckAgainMs))
      return known.isIntact
    const current = this.#checks.get(imageKey)
    if (current !== known && current !== undefined) return current.isIntact
    const isIntact = this.#check(record)
    this.#checks.set(imageKey, { isIntact, at: now })
    isIntact.catch(() => this.#checks.delete(imageKey))
    return isIntact
  }

  async #check({ imageKey, sizeBytes, sha256 }: ImageFacts): Promise<boolean> {
    const blob = await this.#blobs().open(imageKey)
    if (blob?.bytes === sizeBytes) {
      const hash = createHash('sha256')
      for await (const part of partsOf(blob)) hash.update(part)
      if (hash.digest('hex') === sha256) return true
    } else await blob?.close()
    return false
  }

  #blobs(): Blobs {
    const { blobs } = this.#ports
    if (blobs !== undefined) return blobs
    const message = 'there is no place for images: set FLEET_S3_URL'
    throw new Fault('BLOBS_UNAVAILABLE', { retryable: false, message })
  }
}

/** Closes the blob at the end, or when its reader stops. The parts share one buffer. */
async function* partsOf(blob: OpenBlob): AsyncGenerator<Uint8Array> {
  try {
    const buffer = new Uint8Array(Math.min(LIMITS.imageCheckBytes, Math.max(1, blob.bytes)))
    for (let bytes = await blob.read(buffer); bytes > 0; bytes = await blob.read(buffer))
      yield buffer.subarray(0, bytes)
  } finally {
    await blob.close()
  }
}

/** When the upload of an image began, according to its key. A key of another form belongs to somebody else and stays. */
function uploadStartedAt(key: string): number {
  const [, millis] = /^firmware\/(\d{1,15})-/.exec(key) ?? []
  return millis === undefined ? Number.POSITIVE_INFINITY : Number(millis)
}

const missing = () =>
  new Fault('BLOBS_UNAVAILABLE', { retryable: true, message: 'the image of a firmware is missing' })
