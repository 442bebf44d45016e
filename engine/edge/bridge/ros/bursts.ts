// When to read from ROS. A message that comes alone is read at once. Where each would wake the process for itself, they are
// left in the socket for some milliseconds and read together: a robot with many topics then costs a few reads, a few writes
// and a few acknowledgements in place of one for each message.
import type { Clock } from '../clock.ts'

export interface BurstPorts {
  readonly clock: Clock
  /** Leaves what comes from now on where it is. */
  readonly pause: () => void
  readonly resume: () => void
  /** Runs something once all that has come was read. */
  readonly afterReading: (run: () => void) => void
}

/** Two messages with less between them than this begin a burst. A topic at 50 Hz is none by itself. */
const SOON_MS = 10
/** Nobody sees that a measurement is this much later. */
const TOGETHER_MS = 25

export class Bursts {
  readonly #ports: BurstPorts
  #state: 'each' | 'waiting' | 'reading' = 'each'
  #count = 0
  #heardAt = Number.NEGATIVE_INFINITY
  #stopTimer: () => void = () => undefined

  constructor(ports: BurstPorts) {
    this.#ports = ports
  }

  /** A message was read. */
  heard(): void {
    this.#count++
    if (this.#state !== 'each') return
    const now = this.#ports.clock.now()
    const isSoon = now >= this.#heardAt && now - this.#heardAt < SOON_MS
    this.#heardAt = now
    if (isSoon) this.#wait()
  }

  /** The socket is closed. */
  stop(): void {
    this.#stopTimer()
    this.#state = 'each'
  }

  #wait(): void {
    this.#state = 'waiting'
    this.#ports.pause()
    this.#stopTimer = this.#ports.clock.after(TOGETHER_MS, () => this.#read())
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
