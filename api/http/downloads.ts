// Sends images piece by piece. Only what the reader takes is held in memory, the number and total rate of streams are
// limited, and a stream ends when its download is withdrawn.
//
// - All ranges of one reader count as one download; a reader has a few streams at a time.
// - A stream ends within a second of being withdrawn, even if its reader takes nothing.
// D3. With several nodes, each stream has a place in a shared count (`DownloadLeases`). It sends nothing once that place
//     may have been given to another stream.
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { OpenBlob } from '../../engine/ports/blobs.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { DownloadLeases } from '../../engine/ports/download-leases.ts'
import type { Schedule } from '../../engine/ports/schedule.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { BufferPool } from './buffer-pool.ts'

/** The reader of an image, informed about the progress of its download. */
export interface Reader {
  /** A device with its deployment, or a user. */
  readonly name: string
  readonly isWithdrawn: () => boolean
  /** Called when the first byte was taken. */
  readonly onStarted: () => void
  /** Called at most once a second, and at the end. */
  readonly onSent: (bytes: number) => void
}

export interface DownloadCounts {
  readonly active: number
  readonly bytes: number
  readonly refused: Readonly<Record<string, number>>
}

/** The right to send one stream, until it is given back with `leave`. */
export interface Entry {
  readonly kind: 'entry'
  readonly reader: string
  readonly stream: string
  /** Time, by `Clock.ticks`, until which the place belongs to nobody else. */
  heldUntil: number
}

interface Stream {
  readonly reader: Reader
  readonly entry: Entry
  readonly response: ServerResponse
  bytes: number
  reportedBytes: number
}

interface DownloadsOptions {
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'after' | 'every'>
  readonly downloadsMax: number
  /** A reader that takes nothing for this long is cut. */
  readonly silenceMs: number
  /** Limit for all streams together. 0 means no limit. */
  readonly downloadBytesPerSec: number
  /** The count shared by all nodes. Undefined if this is the only node. */
  readonly places: DownloadLeases | undefined
}

export class Downloads {
  readonly #options: DownloadsOptions
  readonly #streams = new Set<Stream>()
  /** The number of streams, open or about to open, by reader. */
  readonly #readers = new Map<string, number>()
  readonly #refused = new Map<string, number>()
  readonly #entries = new Set<Entry>()
  readonly #pieces = new BufferPool()
  #bytes = 0
  #stopChecks: (() => void) | undefined
  #stopRenewal: (() => void) | undefined

  constructor(options: DownloadsOptions) {
    this.#options = options
  }

  counts(): DownloadCounts {
    return { active: this.#readers.size, bytes: this.#bytes, refused: Object.fromEntries(this.#refused) }
  }

  count(reason: string): void {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1)
  }

  /** Takes a place, which `send` or `leave` gives back. */
  async enter(reader: string, retryAfterSec: number): Promise<Entry | Refusal> {
    const { places, clock } = this.#options
    const streams = this.#readers.get(reader) ?? 0
    if (streams >= API_LIMITS.streamsPerReaderMax) return this.#refuse('reader', retryAfterSec)
    if (streams === 0 && this.#readers.size >= this.#options.downloadsMax)
      return this.#refuse('busy', retryAfterSec)
    this.#readers.set(reader, streams + 1)
    const entry: Entry = { kind: 'entry', reader, stream: randomUUID(), heldUntil: Number.POSITIVE_INFINITY }
    if (places === undefined) return entry
    entry.heldUntil = clock.ticks() + places.heldMs
    const answer = await places.acquire(entry).catch(() => 'away' as const)
    if (answer === 'taken') {
      this.#entries.add(entry)
      this.#stopRenewal ??= this.#renewPlaces(places)
      return entry
    }
    this.#releaseReader(entry)
    return this.#refuse(answer, retryAfterSec)
  }

  leave(entry: Entry): void {
    this.#releaseReader(entry)
    // If the place cannot be given back now, it expires soon because nobody renews it.
    if (this.#entries.delete(entry)) void this.#options.places?.release(entry).catch(() => undefined)
    if (this.#entries.size > 0) return
    this.#stopRenewal?.()
    this.#stopRenewal = undefined
  }

  /** Sends this many bytes of a blob as the body of an answer whose head is written. Resolves when the stream has ended. */
  async send(
    reader: Reader,
    blob: OpenBlob,
    { response, bytes, entry }: { response: ServerResponse; bytes: number; entry: Entry },
  ) {
    const stream: Stream = { reader, entry, response, bytes: 0, reportedBytes: 0 }
    this.#streams.add(stream)
    this.#stopChecks ??= this.#options.schedule.every(API_LIMITS.downloadLookMs, () => this.#checkStreams())
    response.setTimeout(this.#options.silenceMs, () => response.destroy())
    try {
      const isWhole = await this.#pump(stream, blob, bytes)
      if (isWhole) response.end()
      // Disconnects, so that the reader does not take the part for the whole.
      else response.destroy()
    } catch {
      // The image store failed halfway. The reader will request the rest.
      response.destroy()
    } finally {
      this.#streams.delete(stream)
      if (this.#streams.size === 0) {
        this.#stopChecks?.()
        this.#stopChecks = undefined
      }
      reportProgress(stream)
      this.leave(entry)
      await blob.close()
    }
  }

  #refuse(reason: 'reader' | 'busy' | 'away', retryAfterSec: number): Refusal {
    this.count(reason)
    if (reason === 'reader')
      return refused('RATE_LIMIT_EXCEEDED', {
        message: `${API_LIMITS.streamsPerReaderMax} downloads are under way; try again`,
        retry_after_sec: API_LIMITS.retryAfterSec,
      })
    return refused('DEPENDENCY_UNAVAILABLE', {
      message:
        reason === 'busy'
          ? 'as many downloads as the service allows are under way; try again'
          : 'the downloads of the other nodes cannot be counted now; try again',
      retry_after_sec: retryAfterSec,
    })
  }

  #releaseReader({ reader }: Entry): void {
    const left = (this.#readers.get(reader) ?? 1) - 1
    if (left > 0) this.#readers.set(reader, left)
    else this.#readers.delete(reader)
  }

  // by D3
  #renewPlaces(places: DownloadLeases): () => void {
    return this.#options.schedule.every(API_LIMITS.downloadPlaceEveryMs, () => {
      const from = this.#options.clock.ticks()
      const entries = [...this.#entries]
      places.renew(entries).then(
        (held) => {
          for (const [i, entry] of entries.entries())
            entry.heldUntil = held[i] === true ? Math.max(entry.heldUntil, from + places.heldMs) : 0
        },
        // The next attempt follows soon. If none succeeds in time, the streams end.
        () => undefined,
      )
    })
  }

  async #pump(stream: Stream, blob: OpenBlob, bytes: number): Promise<boolean> {
    const { clock } = this.#options
    const write = writerOf(stream.response)
    const taken = () => stream.response.socket?.bytesWritten ?? 0
    let buffer = this.#pieces.take(taken())
    let isWhole = false
    try {
      let nextAt = clock.ticks()
      for (let left = bytes; left > 0; ) {
        const bytesPerSec = this.#streamBytesPerSec()
        const piece = await blob.read(
          buffer.subarray(0, Math.min(buffer.length, left, pieceBytes(bytesPerSec))),
        )
        if (piece === 0 || this.#isLost(stream)) return false
        const from = clock.ticks()
        if (!(await write(buffer.subarray(0, piece)))) return false
        if (stream.bytes === 0) stream.reader.onStarted()
        stream.bytes += piece
        this.#bytes += piece
        left -= piece
        nextAt = Math.max(from, nextAt) + (piece / bytesPerSec) * 1_000
        if (nextAt > clock.ticks()) await this.#sleep(nextAt - clock.ticks())
        else buffer = this.#pieces.grow(buffer, taken())
      }
      isWhole = true
    } finally {
      this.#pieces.release(buffer, isWhole)
    }
    return isWhole
  }

  /** Bytes per second for one stream. */
  #streamBytesPerSec(): number {
    const { downloadBytesPerSec: all } = this.#options
    return all === 0 ? Number.POSITIVE_INFINITY : Math.max(1, all / this.#streams.size)
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.schedule.after(ms, resolve))
  }

  #checkStreams(): void {
    for (const stream of this.#streams) {
      reportProgress(stream)
      if (stream.reader.isWithdrawn() || this.#isLost(stream)) stream.response.destroy()
    }
  }

  #isLost({ entry }: Stream): boolean {
    return this.#options.clock.ticks() >= entry.heldUntil
  }
}

const PIECES_PER_SEC = 4

const pieceBytes = (bytesPerSec: number) => Math.max(1, Math.ceil(bytesPerSec / PIECES_PER_SEC))

function reportProgress(stream: Stream): void {
  const bytes = stream.bytes - stream.reportedBytes
  if (bytes === 0) return
  stream.reportedBytes = stream.bytes
  stream.reader.onSent(bytes)
}

/** Writes pieces one after the other. Resolves with false if the reader is gone; otherwise the piece may be reused. */
function writerOf(response: ServerResponse): (piece: Uint8Array) => Promise<boolean> {
  let isClosed = response.destroyed
  let settle: (isWritten: boolean) => void = () => {}
  response.once('close', () => {
    isClosed = true
    settle(false)
  })
  const written = (error: Error | null | undefined) => settle(error === undefined || error === null)
  return (piece) =>
    new Promise((resolve) => {
      settle = resolve
      if (isClosed) resolve(false)
      else response.write(piece, written)
    })
}
