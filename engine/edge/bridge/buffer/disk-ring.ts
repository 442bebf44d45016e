// A queue of lines on disk, bounded by bytes and age. A full ring drops its oldest lines.
//
// - A file is only appended to. It is deleted as a whole once all its lines were taken, are too old or must make room.
// - The read position within a file is not stored, so that lines are returned again after a restart. Consumers must
//   tolerate repeated lines.
import { appendFile, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

export interface RingBounds {
  readonly bytesMax: number
  readonly ageMsMax: number
}

interface Segment {
  readonly path: string
  bytes: number
  newestAt: number
  /** True once reading has begun. Nothing is appended to the file any more. */
  isSealed: boolean
  /** True if its last line may be cut off, by a kill or a full disk. */
  mayBeTorn: boolean
}

/** The number of files in a full ring. One file is dropped at a time. */
const SEGMENTS = 16
const PENDING_BYTES_MAX = 8 * 1024 * 1024
const ENDING = '.jsonl'

export class DiskRing {
  readonly #folder: string
  readonly #bounds: RingBounds
  readonly #now: () => number
  readonly #failed: (error: unknown) => void
  /** The files, oldest first. New lines go to the last one unless it is being read. */
  readonly #segments: Segment[]
  #next: number
  #reading: { readonly segment: Segment; readonly lines: readonly string[]; at: number } | undefined
  #pending: string[] = []
  #pendingBytes = 0
  #writing: Promise<void> = Promise.resolve()
  #isWriting = false

  private constructor(
    about: { readonly folder: string; readonly segments: Segment[]; readonly next: number },
    bounds: RingBounds,
    ports: { readonly now: () => number; readonly failed: (error: unknown) => void },
  ) {
    this.#folder = about.folder
    this.#segments = about.segments
    this.#next = about.next
    this.#bounds = bounds
    this.#now = ports.now
    this.#failed = ports.failed
  }

  /** `now` is monotonic, so that lines become no older when the clock of the machine is set. `failed` is called when lines could
   *  not be written and are lost. */
  static async open(
    folder: string,
    bounds: RingBounds,
    ports: { readonly now: () => number; readonly failed: (error: unknown) => void },
  ): Promise<DiskRing> {
    await mkdir(folder, { recursive: true })
    const names = (await readdir(folder)).filter((name) => name.endsWith(ENDING)).sort()
    const segments = await Promise.all(
      names.map(async (name) => {
        const path = join(folder, name)
        const { size, mtimeMs } = await stat(path)
        const newestAt = ports.now() - Math.max(0, Date.now() - mtimeMs)
        return { path, bytes: size, newestAt, isSealed: false, mayBeTorn: true }
      }),
    )
    const next = Number.parseInt(names.at(-1) ?? '0', 10) + 1
    return new DiskRing({ folder, segments, next }, bounds, ports)
  }

  /** The size of all lines that are on disk or about to be written. */
  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, this.#pendingBytes)
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0 && this.#pending.length === 0
  }

  add(line: string): void {
    this.#pending.push(line)
    this.#pendingBytes += Buffer.byteLength(line) + 1
    // The disk is too slow, so the oldest unwritten lines are dropped.
    while (this.#pendingBytes > PENDING_BYTES_MAX) {
      this.#pendingBytes -= Buffer.byteLength(this.#pending.shift() ?? '') + 1
    }
    if (!this.#isWriting) this.#writing = this.#write()
  }

  /** Resolves with at most `count` of the oldest lines. The result is empty only if the ring is. Rejects if a file cannot be
   *  read. It is then read after the others, because the cause may pass. */
  async peek(count: number): Promise<readonly string[]> {
    await this.#writing
    await this.#forgetOld()
    for (;;) {
      if (this.#reading === undefined) {
        const [segment] = this.#segments
        if (segment === undefined && this.#pending.length === 0) return []
        if (segment === undefined) {
          await this.#writing
          continue
        }
        segment.isSealed = true
        // A write to this file may still be in progress.
        await this.#writing
        const text = await this.#read(segment)
        this.#reading = { segment, lines: text.split('\n').filter((line) => line !== ''), at: 0 }
      }
      const { segment, lines, at } = this.#reading
      if (at < lines.length) return lines.slice(at, at + count)
      await this.#remove(segment)
    }
  }

  /** Removes the first `count` lines that `peek` returned. */
  async take(count: number): Promise<void> {
    if (this.#reading === undefined) return
    this.#reading.at += count
    const { segment, lines, at } = this.#reading
    if (at >= lines.length) await this.#remove(segment)
  }

  /** Resolves once all lines are on disk. */
  async close(): Promise<void> {
    await this.#writing
  }

  async #read(segment: Segment): Promise<string> {
    try {
      return await readFile(segment.path, 'utf8')
    } catch (error) {
      // Somebody deleted the file.
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
      const at = this.#segments.indexOf(segment)
      if (at >= 0) this.#segments.push(...this.#segments.splice(at, 1))
      throw error
    }
  }

  async #write(): Promise<void> {
    this.#isWriting = true
    while (this.#pending.length > 0) {
      const text = `${this.#pending.splice(0).join('\n')}\n`
      const bytes = this.#pendingBytes
      this.#pendingBytes = 0
      try {
        const segment = this.#segmentToWrite()
        // Ends a line that was cut off, so that the next one is whole. Readers skip empty lines.
        const start = segment.mayBeTorn ? '\n' : ''
        segment.mayBeTorn = true
        await appendFile(segment.path, start + text)
        segment.mayBeTorn = false
        segment.bytes += start.length + bytes
        segment.newestAt = this.#now()
        await this.#makeRoom()
      } catch (error) {
        this.#failed(error)
      }
    }
    this.#isWriting = false
  }

  #segmentToWrite(): Segment {
    const last = this.#segments.at(-1)
    const isFull = last === undefined || last.bytes >= this.#bounds.bytesMax / SEGMENTS
    if (!isFull && !last.isSealed) return last
    const name = `${String(this.#next++).padStart(12, '0')}${ENDING}`
    const path = join(this.#folder, name)
    const segment = { path, bytes: 0, newestAt: this.#now(), isSealed: false, mayBeTorn: false }
    this.#segments.push(segment)
    return segment
  }

  async #makeRoom(): Promise<void> {
    while (this.#segments.length > 1 && this.bytes > this.#bounds.bytesMax) {
      const [oldest] = this.#segments
      if (oldest !== undefined) await this.#remove(oldest)
    }
  }

  async #forgetOld(): Promise<void> {
    const since = this.#now() - this.#bounds.ageMsMax
    for (const segment of this.#segments.filter(({ newestAt }) => newestAt < since))
      await this.#remove(segment)
  }

  async #remove(segment: Segment): Promise<void> {
    if (this.#reading?.segment === segment) this.#reading = undefined
    const at = this.#segments.indexOf(segment)
    if (at >= 0) this.#segments.splice(at, 1)
    await rm(segment.path, { force: true })
  }
}
