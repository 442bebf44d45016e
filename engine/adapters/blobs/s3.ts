// Blobs in a bucket of an S3 API. A large blob is uploaded in parts, of which at most two are in memory. S3 shows it
// once the upload is completed.
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwsClient } from 'aws4fetch'
import { LIMITS } from '../../limits.ts'
import type {
  BlobAddress,
  BlobFacts,
  BlobPage,
  Blobs,
  OpenBlob,
  PutBlob,
  UnfinishedUploads,
} from '../../ports/blobs.ts'
import { Fault } from '../../ports/fault.ts'
import { checkedKey, Meter, TooLargeError } from './content.ts'
import { readText, type SignedRequest, sendRequest, unavailable } from './s3-answer.ts'
import { S3Body } from './s3-body.ts'

export interface S3Options {
  /** URL of the service without the bucket, which becomes the first part of the path. */
  readonly url: string
  readonly bucket: string
  readonly region: string
  readonly accessKey: string
  readonly secretKey: string
  readonly partBytes?: number | undefined
}

interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

const EMPTY = new Uint8Array()
/** Marks the fault of a service that is out of space. */
const FULL = Symbol('full')
/** Amazon's own service has no bound. Self-hosted services report a full disk in several ways. */
const FULL_CODES = new Set(['QuotaExceeded', 'StorageFull', 'XMinioStorageFull', 'InsufficientCapacity'])

export class S3Blobs implements Blobs {
  readonly #client: AwsClient
  readonly #bucketUrl: string
  readonly #partBytes: number
  /** Signatures of reads, by key. */
  readonly #signed = new Map<string, { readonly request: SignedRequest; readonly until: number }>()

  constructor({ url, bucket, region, accessKey, secretKey, partBytes }: S3Options) {
    this.#client = new AwsClient({
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      service: 's3',
      region,
    })
    this.#bucketUrl = `${url.replace(/\/$/, '')}/${bucket}`
    this.#partBytes = partBytes ?? LIMITS.blobPartBytes
  }

  async put(key: string, content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<PutBlob> {
    checkedKey(key)
    const meter = new Meter()
    const parts = partsOf(meter.read(content, bytesMax), this.#partBytes)
    try {
      const first = await parts.next()
      const second = await parts.next()
      if (second.done === true) await this.#send({ method: 'PUT', key, body: first.value ?? EMPTY })
      else await this.#putParts(key, concat([first.value ?? EMPTY, second.value], parts))
      return meter.result()
    } catch (error) {
      if (error instanceof TooLargeError) return { kind: 'too_large' }
      if (error instanceof Fault && error.cause === FULL) return { kind: 'full' }
      throw error
    } finally {
      await parts.return(undefined)
    }
  }

  async head(key: string): Promise<BlobFacts | undefined> {
    const response = await this.#sendWithRetries({ method: 'HEAD', key: checkedKey(key) })
    return response && { key, bytes: Number(response.headers['content-length']) }
  }

  async open(
    key: string,
    range?: { readonly from: number; readonly to: number },
  ): Promise<OpenBlob | undefined> {
    const headers = range === undefined ? {} : { range: `bytes=${range.from}-${range.to - 1}` }
    const response = await this.#sendWithRetries({ method: 'GET', key: checkedKey(key), headers })
    if (response === undefined) return undefined
    if (range !== undefined && response.statusCode !== 206) {
      response.destroy()
      throw unavailable(false, 'it ignores ranges')
    }
    const { 'content-range': part, 'content-length': length } = response.headers
    const body = new S3Body(response)
    return {
      bytes: Number(part?.split('/')[1] ?? length),
      read: (into) => body.read(into),
      close: async () => body.close(),
    }
  }

  async address(key: string, { seconds, contentType, contentDisposition }: BlobAddress): Promise<string> {
    const url = this.#urlOf(checkedKey(key), {
      'X-Amz-Expires': String(seconds),
      'response-content-type': contentType,
      'response-content-disposition': contentDisposition,
    })
    return (await this.#client.sign(url, { method: 'GET', aws: { signQuery: true } })).url
  }

  async delete(key: string): Promise<void> {
    await this.#sendWithRetries({ method: 'DELETE', key: checkedKey(key) })
  }

  async list({ prefix, after, limit }: BlobPage): Promise<readonly BlobFacts[]> {
    const query = {
      'list-type': '2',
      prefix,
      'max-keys': String(Math.min(limit, LIMITS.blobsListedMax)),
      ...(after === undefined ? {} : { 'start-after': after }),
    }
    const text = await readText(await this.#send({ method: 'GET', key: '', query }))
    return [...text.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, entry = '']) => ({
      key: fieldOf(entry, 'Key'),
      bytes: Number(fieldOf(entry, 'Size')),
    }))
  }

  async dropUnfinished({ prefix, isMeant }: UnfinishedUploads): Promise<void> {
    for (let from: Readonly<Record<string, string>> | undefined = {}; from !== undefined; ) {
      const query: Readonly<Record<string, string>> = { uploads: '', prefix, ...from }
      const text = await readText(await this.#send({ method: 'GET', key: '', query }))
      for (const [, upload = ''] of text.matchAll(/<Upload>(.*?)<\/Upload>/gs)) {
        const [key, uploadId] = [fieldOf(upload, 'Key'), fieldOf(upload, 'UploadId')]
        if (isMeant(key)) await this.#sendWithRetries({ method: 'DELETE', key, query: { uploadId } })
      }
      const [keyMarker, idMarker] = [fieldOf(text, 'NextKeyMarker'), fieldOf(text, 'NextUploadIdMarker')]
      const hasMore = fieldOf(text, 'IsTruncated') === 'true'
      from = hasMore ? { 'key-marker': keyMarker, 'upload-id-marker': idMarker } : undefined
    }
  }

  async #putParts(key: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
    const begun = await this.#send({ method: 'POST', key, query: { uploads: '' } })
    const uploadId = fieldOf(await readText(begun), 'UploadId')
    try {
      const tags: string[] = []
      for await (const body of parts) {
        const query = { partNumber: String(tags.length + 1), uploadId }
        const { headers } = await this.#send({ method: 'PUT', key, query, body })
        tags.push(headers.etag ?? '')
      }
      await this.#complete({ key, uploadId, tags })
    } catch (error) {
      // The parts would take up space. If they cannot be deleted, the caller must still learn of the original failure.
      await this.#sendWithRetries({ method: 'DELETE', key, query: { uploadId } }).catch(() => undefined)
      throw error
    }
  }

  async #complete(upload: {
    readonly key: string
    readonly uploadId: string
    readonly tags: readonly string[]
  }): Promise<void> {
    const { key, uploadId, tags } = upload
    const parts = tags.map((tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
    const text = await readText(await this.#send({ method: 'POST', key, query: { uploadId }, body }))
    // S3 answers 200 before it starts to assemble the parts, and reports a failure in the body.
    if (text.includes('<Error>')) throw unavailable(true, `it answers ${fieldOf(text, 'Code')}`)
  }

  /** The range is not signed, so one signature serves all ranges of a blob, for a while. A signature takes as much time as
   *  hundreds of KiB. */
  async #sign({ method, key, query = {}, body = EMPTY }: S3Request): Promise<SignedRequest> {
    const isRead = method === 'GET' && key !== ''
    const now = performance.now()
    const known = isRead ? this.#signed.get(key) : undefined
    if (known !== undefined && now < known.until) return known.request
    const hash = createHash('sha256').update(body).digest('hex')
    const { url, headers } = await this.#client.sign(this.#urlOf(key, query), {
      method,
      headers: { 'x-amz-content-sha256': hash },
    })
    const request = { method, url, headers: Object.fromEntries(headers) }
    if (!isRead) return request
    if (this.#signed.size >= LIMITS.blobSignaturesMax) this.#signed.clear()
    this.#signed.set(key, { request, until: now + LIMITS.blobSignatureMs })
    return request
  }

  async #send(request: S3Request): Promise<IncomingMessage> {
    const response = await this.#sendWithRetries(request)
    if (response === undefined) throw unavailable(false, 'there is no such bucket or upload')
    return response
  }

  #urlOf(key: string, query: Readonly<Record<string, string>>): URL {
    const url = new URL(`${this.#bucketUrl}${key === '' ? '' : `/${key}`}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return url
  }

  /** Resolves with undefined if there is no such blob. Every request of this adapter is safe to repeat. */
  async #sendWithRetries(request: S3Request): Promise<IncomingMessage | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#sendOnce(request)
      } catch (error) {
        if (!(error instanceof Fault && error.retryable) || attempt >= LIMITS.blobAttemptsMax) throw error
        await sleep(LIMITS.blobRetryMs * 2 ** attempt)
      }
    }
  }

  async #sendOnce(request: S3Request): Promise<IncomingMessage | undefined> {
    const { method, headers = {}, body = EMPTY } = request
    const signed = await this.#sign(request)
    const answer = await sendRequest({ ...signed, headers: { ...signed.headers, ...headers } }, body)
    const { statusCode: status = 0 } = answer
    if (status >= 400) this.#signed.clear()
    if (status >= 200 && status < 300) {
      // The caller reads the body of these two only. All others are read here, or their connection would stay busy.
      if (method !== 'GET' && method !== 'POST') await readText(answer)
      return answer
    }
    const text = await readText(answer)
    if (status === 404 && !text.includes('NoSuchBucket')) return undefined
    if (status === 507 || FULL_CODES.has(fieldOf(text, 'Code'))) throw unavailable(false, 'it is full', FULL)
    const isRetryable = status >= 500 || status === 429
    throw unavailable(isRetryable, `it answers ${status} ${fieldOf(text, 'Code')}`.trim())
  }
}

/** Cuts the content into parts of this size. The last one may be smaller. */
async function* partsOf(content: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let buffered: Uint8Array[] = []
  let size = 0
  for await (const chunk of content) {
    buffered.push(chunk)
    size += chunk.length
    while (size >= bytes) {
      const whole = Buffer.concat(buffered)
      yield whole.subarray(0, bytes)
      buffered = [whole.subarray(bytes)]
      size -= bytes
    }
  }
  if (size > 0) yield Buffer.concat(buffered)
}

async function* concat(
  first: readonly Uint8Array[],
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* first
  yield* rest
}

/** Needs no unescaping: keys, sizes and codes contain no character that XML escapes. */
function fieldOf(xml: string, name: string): string {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? ''
}
