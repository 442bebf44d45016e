// Messages on their way to the service: sent in order, kept until the broker has acknowledged them, and kept while there is
// no connection. The oldest are dropped when there is no more room.

export interface OutgoingMessage {
  readonly suffix: string
  readonly payload: Uint8Array
  /** 1 if left out. */
  readonly qos?: 0 | 1 | 2
}

interface Entry extends OutgoingMessage {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export interface OutboxBounds {
  readonly messagesMax: number
  readonly bytesMax: number
  /** Messages that are sent and not acknowledged. */
  readonly inFlightMax: number
}

export type Publish = (message: OutgoingMessage) => Promise<void>

export class Outbox {
  readonly #bounds: OutboxBounds
  readonly #dropped: (messages: number) => void
  /** Oldest first; the first ones may be in flight. */
  #entries: Entry[] = []
  #bytes = 0
  #inFlight = 0
  #publish: Publish | undefined

  constructor(bounds: OutboxBounds, dropped: (messages: number) => void) {
    this.#bounds = bounds
    this.#dropped = dropped
  }

  get waiting(): number {
    return this.#entries.length
  }

  /** Resolves once the broker has acknowledged the message; rejects if there was no room for it. */
  add(message: OutgoingMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#entries.push({ ...message, resolve, reject })
      this.#bytes += message.payload.length
      this.#makeRoom()
      this.#send()
    })
  }

  /** What was in flight is sent again. The service recognises points by their time. */
  connected(publish: Publish): void {
    this.#publish = publish
    this.#inFlight = 0
    this.#send()
  }

  disconnected(): void {
    this.#publish = undefined
    this.#inFlight = 0
  }

  close(): void {
    this.disconnected()
    for (const { reject } of this.#entries.splice(0))
      reject(new Error('the device was closed before this was sent'))
  }

  #makeRoom(): void {
    const { messagesMax, bytesMax } = this.#bounds
    let dropped = 0
    while (this.#entries.length > this.#inFlight + 1) {
      if (this.#entries.length <= messagesMax && this.#bytes <= bytesMax) break
      const [oldest] = this.#entries.splice(this.#inFlight, 1)
      if (oldest === undefined) break
      this.#bytes -= oldest.payload.length
      oldest.reject(new Error('no room to keep this message until it can be sent'))
      dropped++
    }
    if (dropped > 0) this.#dropped(dropped)
  }

  #send(): void {
    const publish = this.#publish
    while (publish !== undefined && this.#inFlight < this.#bounds.inFlightMax) {
      const entry = this.#entries[this.#inFlight]
      if (entry === undefined) return
      this.#inFlight++
      publish(entry).then(
        () => this.#sent(entry),
        () => {
          // The connection is gone: the message is sent again over the next one.
        },
      )
    }
  }

  #sent(entry: Entry): void {
    const at = this.#entries.indexOf(entry)
    if (at < 0) return
    this.#entries.splice(at, 1)
    this.#bytes -= entry.payload.length
    if (at < this.#inFlight) this.#inFlight--
    entry.resolve()
    this.#send()
  }
}
