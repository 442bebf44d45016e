// Sends messages of QoS 1 on the stream of an MQTT.js client, past the client's own queue. The client copies each packet into
// a store, writes it in six pieces and calls back through several layers, which costs more than everything else about a
// message. What is kept until it is acknowledged, and sent again over the next connection, is the outbox's business.
//
// - Messages go out in the order in which they came, and those of one turn of the event loop in one write.
// - No packet identifier is used twice at a time, by the client or here.
import { DefaultMessageIdProvider } from 'mqtt'
import { toBytes, toPublish } from '../publish-packet.ts'

interface PendingAck {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export class Publisher {
  /** The client takes its packet identifiers from here as well. */
  readonly ids: DefaultMessageIdProvider
  readonly #write: (bytes: string) => void
  readonly #waiting = new Map<number, PendingAck>()
  #packets = ''

  /** `write` takes one character for each byte. `isTaken` says whether the client itself waits for the acknowledgement of a
   *  packet identifier. */
  constructor(write: (bytes: string) => void, isTaken: (id: number) => boolean) {
    this.#write = write
    this.ids = new PacketIds((id) => this.#waiting.has(id) || isTaken(id))
  }

  /** Resolves once the broker has acknowledged the message. */
  publish(topic: string, payload: string, retain: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const id = this.ids.allocate()
      this.#waiting.set(id, { resolve, reject })
      if (this.#packets === '') setImmediate(() => this.#flush())
      const head = retain ? HEAD | RETAIN : HEAD
      this.#packets += toPublish({ topic: toBytes(topic), payload: toBytes(payload), head, packetId: id })
    })
  }

  /** A PUBACK has come. False if it is for a packet of the client. */
  acknowledged(id: number): boolean {
    this.#waiting.get(id)?.resolve()
    return this.#waiting.delete(id)
  }

  /** Rejects what was not acknowledged: nothing more will be. */
  close(): void {
    this.#packets = ''
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting)
      reject(new Error('the connection was closed before this was acknowledged'))
  }

  #flush(): void {
    const packets = this.#packets
    this.#packets = ''
    if (packets !== '') this.#write(packets)
  }
}

class PacketIds extends DefaultMessageIdProvider {
  readonly #isTaken: (id: number) => boolean

  constructor(isTaken: (id: number) => boolean) {
    super()
    this.#isTaken = isTaken
  }

  /** There is always one: far fewer than 65 535 messages are in flight. */
  override allocate(): number {
    let id = super.allocate()
    while (this.#isTaken(id)) id = super.allocate()
    return id
  }
}

/** PUBLISH with QoS 1. */
const HEAD = 0x32
const RETAIN = 0x01
