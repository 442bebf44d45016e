// Messages on their way to the service: sent in order, kept until the broker has acknowledged them, and kept while there is
// no connection. The oldest are dropped when there is no more room.

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
  /** Sent and not acknowledged, oldest first. All of them are older than what waits. */
  readonly #inFlight = new Set<Entry>()
  /** Oldest first, from `#head` on. A full one is long, and shifting it would cost every message its length. */
  #waiting: (Entry | undefined)[] = []
  #head = 0
  #bytes = 0
  #publish: Publish | undefined

  constructor(bounds: OutboxBounds, dropped: (messages: number) => void) {
    this.#bounds = bounds
    this.#dropped = dropped
  }

  get waiting(): number {
    return this.#inFlight.size + this.#waiting.length - this.#head
  }

  /** Resolves once the broker has acknowledged the message; rejects if there was no room for it. */
  add(message: OutgoingMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      const { suffix, payload, qos = 1 } = message
      const bytes = Buffer.byteLength(payload)
      this.#waiting.push({ suffix, payload, qos, bytes, resolve, reject })
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
    const left = this.#waiting.slice(this.#head)
    this.#waiting = []
    this.#head = 0
    for (const entry of left) entry?.reject(new Error('the device was closed before this was sent'))
  }

  /** Makes all that is in flight wait again, before the others. */
  #takeBack(): void {
    this.#waiting = [...this.#inFlight, ...this.#waiting.slice(this.#head)]
    this.#head = 0
    this.#inFlight.clear()
  }

  /** Takes the oldest one that waits. */
  #next(): Entry | undefined {
    const entry = this.#waiting[this.#head]
    if (entry === undefined) return undefined
    this.#waiting[this.#head++] = undefined
    // Half of it is free: each message is moved about once.
    if (this.#head * 2 > this.#waiting.length) {
      this.#waiting.splice(0, this.#head)
      this.#head = 0
    }
    return entry
  }

  #makeRoom(): void {
    const { messagesMax, bytesMax } = this.#bounds
    let dropped = 0
    while (this.#waiting.length - this.#head > 1) {
      if (this.waiting <= messagesMax && this.#bytes <= bytesMax) break
      const oldest = this.#next()
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
    if (!this.#inFlight.delete(entry)) {
      // It was acknowledged over the connection before, and waits to be sent again.
      const at = this.#waiting.indexOf(entry)
      if (at < 0) return
      this.#waiting.splice(at, 1)
    }
    this.#bytes -= entry.bytes
    entry.resolve()
    this.#send()
  }
}
