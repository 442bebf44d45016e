// The server that provides firmware to a device under examination. Each check decides how its image is served.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '../../../../schemas/json.ts'

export interface ServedImage {
  readonly bytes: Buffer
  readonly etag: string
  /** The first download breaks after this fraction of the image. */
  readonly cutAt?: number
  /** The first download pauses for this time after this fraction of the image. */
  readonly stall?: { readonly at: number; readonly ms: number }
  /** True if the server ignores ranges and always sends the whole image. */
  readonly isRangeless?: boolean
  readonly bytesPerSec?: number
  /** Responses that are sent before the image is served. */
  readonly refusals?: readonly Refusal[]
}

export interface Refusal {
  readonly status: number
  readonly retryAfterSec?: number
  readonly body: JsonObject
}

export interface Request {
  readonly at: number
  readonly name: string
  readonly range: string | undefined
  /** The status of the response. */
  readonly status: number
}

interface Image {
  readonly serving: ServedImage
  refused: number
  isDisturbed: boolean
}

const SLICE_MS = 50

export class Downloads {
  readonly requests: Request[] = []
  readonly #server: Server
  readonly #images = new Map<string, Image>()
  readonly #changed: () => void
  #keys: JsonObject = { keys: [] }

  private constructor(changed: () => void) {
    this.#changed = changed
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
  }

  /** `changed` is called at each request. */
  static async open(host: string, changed: () => void): Promise<Downloads> {
    const downloads = new Downloads(changed)
    await new Promise<void>((resolve, reject) => {
      downloads.#server.once('error', reject).listen(0, host, resolve)
    })
    return downloads
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  serve(name: string, serving: ServedImage): void {
    this.#images.set(name, { serving, refused: 0, isDisturbed: false })
  }

  /** Sets the response of `/.well-known/ota-keys.json`. */
  publishKeys(keys: JsonObject): void {
    this.#keys = keys
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? ''
    if (path === '/.well-known/ota-keys.json') return void json(response, 200, this.#keys)
    const name = path.split('/').at(-1) ?? ''
    const image = this.#images.get(name)
    if (image === undefined) return void json(response, 404, { code: 'NOT_FOUND' })
    const { range } = request.headers
    const note = (status: number) => {
      this.requests.push({ at: Date.now(), name, range, status })
      this.#changed()
    }
    const refusal = image.serving.refusals?.[image.refused]
    if (refusal !== undefined) {
      image.refused++
      note(refusal.status)
      const { retryAfterSec: after } = refusal
      if (after !== undefined) response.setHeader('retry-after', String(after))
      return void json(response, refusal.status, refusal.body)
    }
    await this.#serve(image, {
      response,
      range,
      ifRange: String(request.headers['if-range'] ?? '') || undefined,
      note,
    })
  }

  async #serve(image: Image, about: DownloadRequest): Promise<void> {
    const { bytes, etag, isRangeless = false } = image.serving
    const { response, range, ifRange, note } = about
    const isAlike = ifRange === undefined || ifRange === etag
    const from = isRangeless || !isAlike ? undefined : firstByte(range)
    response.setHeader('etag', etag)
    if (!isRangeless) response.setHeader('accept-ranges', 'bytes')
    if (from !== undefined && from >= bytes.length) {
      note(416)
      response.setHeader('content-range', `bytes */${bytes.length}`)
      return void json(response, 416, { code: 'RANGE_NOT_SATISFIABLE' })
    }
    const start = from ?? 0
    const status = from === undefined ? 200 : 206
    note(status)
    response.statusCode = status
    response.setHeader('content-length', bytes.length - start)
    if (from !== undefined)
      response.setHeader('content-range', `bytes ${start}-${bytes.length - 1}/${bytes.length}`)
    await sendImage(image, response, start)
  }
}

interface DownloadRequest {
  readonly response: ServerResponse
  readonly range: string | undefined
  readonly ifRange: string | undefined
  readonly note: (status: number) => void
}

/** Sends the image from the byte `start`, with the configured faults. */
async function sendImage(image: Image, response: ServerResponse, start: number): Promise<void> {
  const { bytes, bytesPerSec, cutAt, stall } = image.serving
  const fault = cutAt ?? stall?.at
  const faultAt = fault === undefined || image.isDisturbed ? undefined : Math.floor(bytes.length * fault)
  const slice = bytesPerSec === undefined ? bytes.length : Math.ceil((bytesPerSec * SLICE_MS) / 1_000)
  for (let at = start; at < bytes.length && !response.destroyed; ) {
    const isBefore = faultAt !== undefined && at < faultAt
    const end = Math.min(bytes.length, at + slice, isBefore ? faultAt : bytes.length)
    await new Promise((resolve) => response.write(bytes.subarray(at, end), resolve))
    at = end
    if (at === faultAt) {
      image.isDisturbed = true
      // Gives the data time to be sent before the connection breaks.
      await sleep(SLICE_MS)
      if (stall === undefined) return void response.destroy()
      await sleep(stall.ms, undefined, { ref: false })
    }
    if (bytesPerSec !== undefined) await sleep(SLICE_MS)
  }
  response.end()
}

function firstByte(range: string | undefined): number | undefined {
  const [, digits] = /^bytes=(\d+)-$/.exec(range ?? '') ?? []
  return digits === undefined ? undefined : Number(digits)
}

function json(response: ServerResponse, status: number, body: JsonObject): void {
  response.statusCode = status
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(body))
}
