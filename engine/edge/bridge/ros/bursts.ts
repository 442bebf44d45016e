// Decides when to read from ROS. A single message is read at once. When messages follow each other quickly, they are
// left in the socket for some milliseconds and read together. A robot with many topics then causes a few reads, writes
// and acknowledgements instead of one of each per message.
import type { Clock } from '../clock.ts'

export interface BurstPorts {
  readonly clock: Clock
  /** Stops reading from the socket. */
  readonly pause: () => void
  readonly resume: () => void
  /** Runs `run` once all pending data were read. */
  readonly afterReading: (run: () => void) => void
}

/** Two messages within this time begin a burst. A single topic at 50 Hz does not. */
const BURST_GAP_MS = 10
/** The delay of a message in a burst, which is too short to notice. */
const PAUSE_MS = 25

export class Bursts {
  readonly #ports: BurstPorts
  #state: 'each' | 'waiting' | 'reading' = 'each'
  #count = 0
  #heardAt = Number.NEGATIVE_INFINITY
  #stopTimer: () => void = () => undefined

  constructor(ports: BurstPorts) {
    this.#ports = ports
  }

  /** Must be called for each message that was read. */
  heard(): void {
    this.#count++
    if (this.#state !== 'each') return
    const now = this.#ports.clock.now()
    const isSoon = now >= this.#heardAt && now - this.#heardAt < BURST_GAP_MS
    this.#heardAt = now
    if (isSoon) this.#wait()
  }

  /** Must be called when the socket is closed. */
  stop(): void {
    this.#stopTimer()
    this.#state = 'each'
  }

  #wait(): void {
    this.#state = 'waiting'
    this.#ports.pause()
    this.#stopTimer = this.#ports.clock.after(PAUSE_MS, () => this.#read())
  }

  #read(): void {
    this.#state = 'reading'
    this.#count = 0
    this.#ports.resume()
    this.#ports.afterReading(() => {
      if (this.#state !== 'reading') return
      if (this.#count > 1) this.#wait()
      else this.#state = 'each'
    })
  }
}
