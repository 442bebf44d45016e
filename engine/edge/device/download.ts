// Downloads a firmware image to a file. An interrupted download continues where it stopped, even after a restart, and the
// file counts only if it has the announced size and SHA-256.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fetchErrorText } from '../../../schemas/error-text.ts'

export interface DownloadOrder {
  /** Called before each request: an address may have expired. */
  readonly url: () => string
  readonly path: string
  readonly sizeBytes: number
  readonly sha256: string
  readonly signal: AbortSignal
  readonly progress: (percent: number) => void
  /** Called when the address has expired: resolves once there is another one. */
  readonly refresh: () => Promise<void>
  /** Between 0 and 1. */
  readonly random: () => number
}

export type DownloadCode = 'DOWNLOAD_FAILED' | 'CHECKSUM_MISMATCH' | 'DOWNLOAD_WITHDRAWN'

export class DownloadError extends Error {
  override readonly name = 'DownloadError'
  readonly code: DownloadCode

  constructor(code: DownloadCode, message: string) {
    super(message)
    this.code = code
  }
}

const TRIES_MAX = 8
const STALLED_MS = 60_000
const WAIT_FIRST_MS = 1_000
const WAIT_LONGEST_MS = 60_000
const RETRY_AFTER_MAX_MS = 600_000

export async function download(order: DownloadOrder): Promise<void> {
  await mkdir(dirname(order.path), { recursive: true })
  let etag: string | undefined
  for (let failures = 0; ; ) {
    const have = await sizeOf(order.path)
    if (have === order.sizeBytes) {
      if ((await hashOf(order.path)) === order.sha256) return
      await rm(order.path)
      throw new DownloadError('CHECKSUM_MISMATCH', 'the image does not have the announced SHA-256')
    }
    // The file is longer than announced, or comes from another image.
    if (have > order.sizeBytes) await rm(order.path)
    const step = await request(order, { have: have > order.sizeBytes ? 0 : have, etag })
    if (step.kind === 'progress') {
      // Progress counts as success, however the request ended.
      failures = 0
      etag = step.etag
    } else if (step.kind === 'wait') await sleep(step.ms * (1 + order.random() / 5), undefined, order)
    else if (step.kind === 'refresh') await order.refresh()
    else {
      if (++failures >= TRIES_MAX) throw new DownloadError('DOWNLOAD_FAILED', step.reason)
      const ceiling = Math.min(WAIT_LONGEST_MS, WAIT_FIRST_MS * 2 ** failures)
      await sleep(ceiling * order.random(), undefined, order)
    }
  }
}

type Step =
  | { readonly kind: 'progress'; readonly etag: string | undefined }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'refresh' }
  | { readonly kind: 'failed'; readonly reason: string }

async function request(
  order: DownloadOrder,
  { have, etag }: { readonly have: number; readonly etag: string | undefined },
): Promise<Step> {
  const stalled = new AbortController()
  const signal = AbortSignal.any([order.signal, stalled.signal])
  try {
    const range = have > 0 ? { range: `bytes=${have}-`, ...(etag !== undefined && { 'if-range': etag }) } : {}
    const timer = setTimeout(() => stalled.abort(), STALLED_MS)
    const response = await fetch(order.url(), { headers: range, signal }).finally(() => clearTimeout(timer))
    const refused = await refusal(response)
    if (refused !== undefined) return refused
    // 200 means the whole image from its start: the server has no ranges, or the image has changed.
    const from = response.status === 206 ? have : 0
    const bytes = await store(response, { order, from, stalled })
    return bytes > 0
      ? { kind: 'progress', etag: response.headers.get('etag') ?? undefined }
      : { kind: 'failed', reason: 'the server sent nothing' }
  } catch (error) {
    order.signal.throwIfAborted()
    if (error instanceof DownloadError) throw error
    return { kind: 'failed', reason: fetchErrorText(error) }
  }
}

async function refusal(response: Response): Promise<Step | undefined> {
  const { status } = response
  if (status === 200 || status === 206) return undefined
  const text = await response.text().catch(() => '')
  if (status === 429 || status === 503) return { kind: 'wait', ms: retryAfterMs(response) }
  if (status === 403 && text.includes('URL_EXPIRED')) return { kind: 'refresh' }
  if (status === 410) throw new DownloadError('DOWNLOAD_WITHDRAWN', 'the service has withdrawn the image')
  return { kind: 'failed', reason: `the server answered with status ${status}` }
}

function retryAfterMs({ headers }: Response): number {
  const text = headers.get('retry-after') ?? ''
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(1_000, (Number.isNaN(seconds) ? 5 : seconds) * 1_000))
}

/** Returns how many bytes were stored. They are kept if the connection breaks. */
async function store(
  response: Response,
  about: { readonly order: DownloadOrder; readonly from: number; readonly stalled: AbortController },
): Promise<number> {
  const { order, from, stalled } = about
  const file = await open(order.path, from === 0 ? 'w' : 'r+')
  let at = from
  let timer = setTimeout(() => stalled.abort(), STALLED_MS)
  try {
    for await (const chunk of response.body ?? []) {
      clearTimeout(timer)
      if (at + chunk.length > order.sizeBytes)
        throw new DownloadError('CHECKSUM_MISMATCH', 'the image is larger than announced')
      await file.write(chunk, 0, chunk.length, at)
      at += chunk.length
      order.progress(Math.floor((at * 100) / order.sizeBytes))
      timer = setTimeout(() => stalled.abort(), STALLED_MS)
    }
  } catch (error) {
    if (error instanceof DownloadError) await file.truncate(0)
    if (error instanceof DownloadError || order.signal.aborted || at === from) throw error
  } finally {
    clearTimeout(timer)
    await file.sync()
    await file.close()
  }
  return at - from
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch {
    // The download has not begun yet.
    return 0
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}
