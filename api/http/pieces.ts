// The memory in which images are on their way. Large pieces cost less CPU for each byte: every one is a way to another thread
// and back. A reader that takes nothing keeps its piece, so all large ones together have a bound, and the more of them are out,
// the smaller the next one is.
import { API_LIMITS } from '../limits.ts'

const {
  downloadPieceBytesMin: SMALL,
  downloadPieceBytesMax: LARGE,
  downloadPiecesBytesMax: ALL,
  downloadTakenBytesMin: TAKEN,
} = API_LIMITS
/** The next piece gets this part of what is left. */
const PART = 16

export class Pieces {
  readonly #spares: Buffer[] = []
  /** Bytes of the large pieces that readers have. */
  #out = 0
  #spareBytes = 0

  /** `taken`: bytes that the connection took so far. */
  take(taken: number): Buffer {
    const bytes = this.#sizeFor(taken)
    if (bytes > SMALL) this.#out += bytes
    const at = this.#spares.findIndex(({ length }) => length === bytes)
    if (at < 0) return Buffer.allocUnsafeSlow(bytes)
    const [spare = Buffer.allocUnsafeSlow(bytes)] = this.#spares.splice(at, 1)
    this.#spareBytes -= bytes
    return spare
  }

  /** A larger piece in the place of this one, if there is one. */
  grown(piece: Buffer, taken: number): Buffer {
    if (piece.length === LARGE || this.#sizeFor(taken) <= piece.length) return piece
    this.giveBack(piece, true)
    return this.take(taken)
  }

  /** `isFree`: nobody reads from it any more, so another reader may have it. Most answers are ranges of an image: the next one
   *  needs a piece at once. */
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
