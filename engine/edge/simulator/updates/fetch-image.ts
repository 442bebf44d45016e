// Downloads an image and discards it. Only its hash matters.
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FirmwareMessage } from '../../device/firmware-message.ts'

const TRIES_MAX = 5
const RETRY_MS_MAX = 60_000
const PROGRESS_EVERY_MS = 1_000
/** The service is busy with other downloads. `Retry-After` says when to try again. */
const BUSY: readonly number[] = [429, 503]

export interface FetchOptions {
  readonly progress: (percent: number) => void
  readonly signal: AbortSignal
  /** Zero means without a limit. */
  readonly bytesPerSec: number
}

/** Resolves with false if the image cannot be downloaded or its hash differs. */
export async function fetchImage(
  { url, sha256, sizeBytes }: Pick<FirmwareMessage, 'url' | 'sha256' | 'sizeBytes'>,
  options: FetchOptions,
): Promise<boolean> {
  const { signal } = options
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    try {
      const response = await fetch(url, { signal })
      if (response.status === 200 && response.body !== null)
        return (await hashOf(response.body, sizeBytes, options)) === sha256
      await response.body?.cancel()
      if (!BUSY.includes(response.status)) return false
      const afterMs = Number(response.headers.get('retry-after') ?? 1) * 1_000
      await sleep(Math.min(afterMs || 1_000, RETRY_MS_MAX), undefined, { signal })
    } catch {
      // Either the connection failed or the simulation was stopped. Only the first is worth another attempt.
      if (signal.aborted) return false
      await sleep(1_000 * tries, undefined, { signal }).catch(() => undefined)
    }
  }
  return false
}

async function hashOf(
  body: AsyncIterable<Uint8Array>,
  sizeBytes: number,
  { progress, signal, bytesPerSec }: FetchOptions,
): Promise<string> {
  const hash = createHash('sha256')
  let bytes = 0
  const startedAt = Date.now()
  let reportedAt = startedAt
  for await (const part of body) {
    hash.update(part)
    bytes += part.length
    const aheadMs = bytesPerSec > 0 ? (bytes * 1_000) / bytesPerSec - (Date.now() - startedAt) : 0
    if (aheadMs > 0) await sleep(aheadMs, undefined, { signal })
    if (Date.now() - reportedAt < PROGRESS_EVERY_MS) continue
    reportedAt = Date.now()
    progress(Math.min(99, Math.floor((bytes * 100) / Math.max(1, sizeBytes))))
  }
  return hash.digest('hex')
}
