// The buffers through which images are sent. Large pieces cost less CPU per byte, because each piece takes one hop to
// another thread and back. A stalled reader keeps its piece, so the total size of all large pieces is bounded, and the more
// of them are in use, the smaller the next one is.
import { API_LIMITS } from '../limits.ts'

const {
  downloadPieceBytesMin: SMALL,
  downloadPieceBytesMax: LARGE,
  downloadPiecesBytesMax: ALL,
  downloadTakenBytesMin: TAKEN,
} = API_LIMITS
/** The next piece is at most this fraction of the remaining bytes. */
const PART = 16

export class Pieces {
  readonly #spares: Buffer[] = []
  /** Bytes of the large pieces in use. */
  #out = 0
  #spareBytes = 0

  /** `taken` is the number of bytes that the connection has taken so far. */
  take(taken: number): Buffer {
    const bytes = this.#sizeFor(taken)
    if (bytes > SMALL) this.#out += bytes
    const at = this.#spares.findIndex(({ length }) => length === bytes)
    if (at < 0) return Buffer.allocUnsafeSlow(bytes)
    const [spare = Buffer.allocUnsafeSlow(bytes)] = this.#spares.splice(at, 1)
    this.#spareBytes -= bytes
    return spare
  }

  /** Exchanges the piece for a larger one, if one is available. */
  grown(piece: Buffer, taken: number): Buffer {
    if (piece.length === LARGE || this.#sizeFor(taken) <= piece.length) return piece
    this.giveBack(piece, true)
    return this.take(taken)
  }

  /** `isFree` says that nobody reads from the piece any more, so another reader may use it. Most answers are ranges of an
   *  image, so a piece is soon needed again. */
  giveBack(piece: Buffer, isFree: boolean): void {
    if (piece.length > SMALL) this.#out -= piece.length
    if (!isFree || this.#spareBytes + piece.length > SPARE_BYTES_MAX) return
    this.#spares.push(piece)
    this.#spareBytes += piece.length
  }

  #sizeFor(taken: number): number {
    if (taken < TAKEN) return SMALL
    let bytes: number = LARGE
    while (bytes > SMALL && bytes * PART > ALL - this.#out) bytes /= 2
    return bytes
  }
}

const SPARE_BYTES_MAX = ALL / 3
