// Reads the body of an answer directly into the buffers of its reader, so that each byte is copied once. A few large
// writes to the client that downloads an image cost less than many small ones.
import type { IncomingMessage } from 'node:http'
import { LIMITS } from '../../limits.ts'
import { unavailable } from './s3-answer.ts'

const NOTHING = new Uint8Array(0)

export class S3Body {
  readonly #answer: IncomingMessage
  /** Bytes that have arrived and have not been read. */
  #rest: Uint8Array = NOTHING
  #into: Uint8Array = NOTHING
  #filled = 0
  #settle = () => {}
  #timer: NodeJS.Timeout | undefined

  constructor(answer: IncomingMessage) {
    this.#answer = answer
    // The answer flows only while somebody reads.
    answer.pause()
    answer.on('data', (chunk: Uint8Array) => this.#copy(chunk))
    for (const name of ['end', 'error', 'close'] as const) answer.on(name, () => this.#settle())
  }

  /** Resolves with the number of bytes read: as many as there is room for, or fewer at the end. A service that goes
   *  silent in the middle is a fault, as at the beginning. */
  async read(into: Uint8Array): Promise<number> {
    const rest = this.#rest
    this.#rest = NOTHING
    this.#into = into
    this.#filled = 0
    this.#copy(rest)
    if (this.#filled < into.length && this.#isOpen()) await this.#untilFilled()
    const { errored, readableEnded, destroyed } = this.#answer
    const isWhole = this.#filled === into.length || readableEnded
    if (!isWhole && errored !== null) throw unavailable(true, 'the connection broke', errored)
    if (!isWhole && destroyed) throw unavailable(true, 'the connection broke')
    return this.#filled
  }

  /** A connection whose answer is complete is reused. */
  close(): void {
    this.#answer.removeAllListeners('data')
    if (this.#answer.complete) this.#answer.resume()
    else this.#answer.destroy()
  }

  #isOpen(): boolean {
    const { readableEnded, destroyed } = this.#answer
    return !readableEnded && !destroyed
  }

  #copy(chunk: Uint8Array): void {
    this.#timer?.refresh()
    const taken = Math.min(chunk.length, this.#into.length - this.#filled)
    this.#into.set(taken === chunk.length ? chunk : chunk.subarray(0, taken), this.#filled)
    this.#filled += taken
    if (taken < chunk.length) this.#rest = chunk.subarray(taken)
    if (this.#filled < this.#into.length) return
    this.#answer.pause()
    this.#settle()
  }

  #untilFilled(): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (finish: () => void) => () => {
        clearTimeout(this.#timer)
        this.#timer = undefined
        this.#settle = () => {}
        finish()
      }
      const isSilent = done(() => {
        this.#answer.destroy()
        reject(unavailable(true, 'it went silent'))
      })
      this.#timer = setTimeout(isSilent, LIMITS.blobTimeoutMs)
      this.#settle = done(resolve)
      this.#answer.resume()
    })
  }
}
