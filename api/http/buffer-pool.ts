// The buffers through which images are sent. Large pieces cost less CPU per byte, because each piece takes one hop to
// another thread and back. A stalled reader keeps its piece, so the total size of all large pieces is bounded, and the more
// of them are in use, the smaller the next one is.
import { API_LIMITS } from '../limits.ts'

const {
  downloadPieceBytesMin: SMALL,
  downloadPieceBytesMax: LARGE,
  downloadPiecesBytesMax: LARGE_TOTAL,
  downloadTakenBytesMin: TAKEN_MIN,
} = API_LIMITS
/** The next piece is at most this fraction of the remaining bytes. */
const REMAINING_DIVISOR = 16

export class BufferPool {
  readonly #free: Buffer[] = []
  /** Bytes of the large pieces in use. */
  #largeBytesInUse = 0
  #freeBytes = 0

  /** `taken` is the number of bytes that the connection has taken so far. */
  take(taken: number): Buffer {
    const bytes = this.#nextBytes(taken)
    if (bytes > SMALL) this.#largeBytesInUse += bytes
    const at = this.#free.findIndex(({ length }) => length === bytes)
    if (at < 0) return Buffer.allocUnsafeSlow(bytes)
    const [free = Buffer.allocUnsafeSlow(bytes)] = this.#free.splice(at, 1)
    this.#freeBytes -= bytes
    return free
  }

  /** Exchanges the piece for a larger one, if one is available. */
  grow(piece: Buffer, taken: number): Buffer {
    if (piece.length === LARGE || this.#nextBytes(taken) <= piece.length) return piece
    this.release(piece, true)
    return this.take(taken)
  }

  /** `isFree` says that nobody reads from the piece any more, so another reader may use it. Most answers are ranges of an
   *  image, so a piece is soon needed again. */
  release(piece: Buffer, isFree: boolean): void {
    if (piece.length > SMALL) this.#largeBytesInUse -= piece.length
    if (!isFree || this.#freeBytes + piece.length > FREE_BYTES_MAX) return
    this.#free.push(piece)
    this.#freeBytes += piece.length
  }

  #nextBytes(taken: number): number {
    if (taken < TAKEN_MIN) return SMALL
    let bytes: number = LARGE
    while (bytes > SMALL && bytes * REMAINING_DIVISOR > LARGE_TOTAL - this.#largeBytesInUse) bytes /= 2
    return bytes
  }
}

const FREE_BYTES_MAX = LARGE_TOTAL / 3
