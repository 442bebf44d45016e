// Messages on their way to the service: sent in order, kept until the broker has acknowledged them, and kept while there is
// no connection. The oldest are dropped when there is no more room.
// - Answers to the service overtake measurements and log lines, and are dropped last. After a long outage thousands of those
//   wait, and an answer behind them would come after its command has expired.

export interface OutgoingMessage {
  readonly suffix: string
  readonly payload: string
  /** 1 if left out. */
  readonly qos?: 0 | 1 | 2
}

interface Entry extends OutgoingMessage {
  readonly bytes: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export interface OutboxBounds {
  readonly messagesMax: number
  readonly bytesMax: number
  /** Messages that are sent and not acknowledged. */
  readonly inFlightMax: number
}

export type Publish = (message: OutgoingMessage) => Promise<unknown>

export class Outbox {
  readonly #bounds: OutboxBounds
  readonly #dropped: (messages: number) => void
  /** Sent and not acknowledged, oldest first. Each is older than what waits in its line. */
  readonly #inFlight = new Set<Entry>()
  readonly #answers = new Line()
  readonly #others = new Line()
  #bytes = 0
  #publish: Publish | undefined

  constructor(bounds: OutboxBounds, dropped: (messages: number) => void) {
    this.#bounds = bounds
    this.#dropped = dropped
  }

  get waiting(): number {
    return this.#inFlight.size + this.#answers.length + this.#others.length
  }

  /** Resolves once the broker has acknowledged the message; rejects if there was no room for it. */
  add(message: OutgoingMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      const { suffix, payload, qos = 1 } = message
      const bytes = Buffer.byteLength(payload)
      this.#lineOf(suffix).push({ suffix, payload, qos, bytes, resolve, reject })
      this.#bytes += bytes
      this.#makeRoom()
      this.#send()
    })
  }

  /** What was in flight is sent again. The service recognises points by their time. */
  connected(publish: Publish): void {
    this.#publish = publish
    this.#takeBack()
    this.#send()
  }

  disconnected(): void {
    this.#publish = undefined
    this.#takeBack()
  }

  close(): void {
    this.disconnected()
    for (let entry = this.#next(); entry !== undefined; entry = this.#next())
      entry.reject(new Error('the device was closed before this was sent'))
  }

  #lineOf(suffix: string): Line {
    return ANSWERS.test(suffix) ? this.#answers : this.#others
  }

  /** Makes all that is in flight wait again, before the others. */
  #takeBack(): void {
    const sent = [...this.#inFlight]
    this.#inFlight.clear()
    for (const line of [this.#answers, this.#others])
      line.putBack(sent.filter(({ suffix }) => this.#lineOf(suffix) === line))
  }

  #next(): Entry | undefined {
    return this.#answers.next() ?? this.#others.next()
  }

  #makeRoom(): void {
    const { messagesMax, bytesMax } = this.#bounds
    let dropped = 0
    while (this.#answers.length + this.#others.length > 1) {
      if (this.waiting <= messagesMax && this.#bytes <= bytesMax) break
      const oldest = this.#others.next() ?? this.#answers.next()
      if (oldest === undefined) break
      this.#bytes -= oldest.bytes
      oldest.reject(new Error('no room to keep this message until it can be sent'))
      dropped++
    }
    if (dropped > 0) this.#dropped(dropped)
  }

  #send(): void {
    const publish = this.#publish
    while (publish !== undefined && this.#inFlight.size < this.#bounds.inFlightMax) {
      const entry = this.#next()
      if (entry === undefined) return
      this.#inFlight.add(entry)
      publish(entry).then(
        () => this.#sent(entry),
        () => {
          // The connection is gone: the message is sent again over the next one.
        },
      )
    }
  }

  #sent(entry: Entry): void {
    // It was acknowledged over the connection before, and waits to be sent again.
    if (!this.#inFlight.delete(entry) && !this.#lineOf(entry.suffix).remove(entry)) return
    this.#bytes -= entry.bytes
    entry.resolve()
    this.#send()
  }
}

const ANSWERS = /^(command|ota|shadow|token)\//

/** Entries that wait, oldest first. */
class Line {
  /** Begins at `#head`. A full one is long, and shifting it would cost every message its length. */
  #entries: (Entry | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#entries.length - this.#head
  }

  push(entry: Entry): void {
    this.#entries.push(entry)
  }

  /** Puts older ones before all others. */
  putBack(older: readonly Entry[]): void {
    this.#entries = [...older, ...this.#entries.slice(this.#head)]
    this.#head = 0
  }

  /** Takes the oldest one. */
  next(): Entry | undefined {
    const entry = this.#entries[this.#head]
    if (entry === undefined) return undefined
    this.#entries[this.#head++] = undefined
    // Half of it is free: each message is moved about once.
    if (this.#head * 2 > this.#entries.length) {
      this.#entries.splice(0, this.#head)
      this.#head = 0
    }
    return entry
  }

  /** False if it is not there. */
  remove(entry: Entry): boolean {
    const at = this.#entries.indexOf(entry)
    if (at >= 0) this.#entries.splice(at, 1)
    return at >= 0
  }
}
