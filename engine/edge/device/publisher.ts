// Sends messages of QoS 1 on the stream of an MQTT.js client, past the client's own queue. The client copies each packet into
// a store, writes it in six pieces and calls back through several layers, which costs more than everything else about a
// message. What is kept until it is acknowledged, and sent again over the next connection, is the outbox's business.
//
// - Messages go out in the order in which they came, and those of one turn of the event loop in one write.
// - No packet identifier is used twice at a time, by the client or here.
import { Buffer } from 'node:buffer'
import { DefaultMessageIdProvider } from 'mqtt'

interface PendingAck {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export class Publisher {
  /** The client takes its packet identifiers from here as well. */
  readonly ids: DefaultMessageIdProvider
  readonly #write: (bytes: Buffer) => void
  readonly #waiting = new Map<number, PendingAck>()
  #frames: Buffer[] = []

  /** `isTaken` says whether the client itself waits for the acknowledgement of a packet identifier. */
  constructor(write: (bytes: Buffer) => void, isTaken: (id: number) => boolean) {
    this.#write = write
    this.ids = new PacketIds((id) => this.#waiting.has(id) || isTaken(id))
  }

  /** Resolves once the broker has acknowledged the message. */
  publish(topic: string, payload: Uint8Array, retain: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const id = this.ids.allocate()
      this.#waiting.set(id, { resolve, reject })
      if (this.#frames.length === 0) setImmediate(() => this.#flush())
      this.#frames.push(toPublish({ topic, payload, id, retain }))
    })
  }

  /** A PUBACK has come. False if it is for a packet of the client. */
  acknowledged(id: number): boolean {
    this.#waiting.get(id)?.resolve()
    return this.#waiting.delete(id)
  }

  /** Rejects what was not acknowledged: nothing more will be. */
  close(): void {
    this.#frames = []
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting)
      reject(new Error('the connection was closed before this was acknowledged'))
  }

  #flush(): void {
    const frames = this.#frames
    this.#frames = []
    const [first] = frames
    if (first !== undefined) this.#write(frames.length === 1 ? first : Buffer.concat(frames))
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

/** [MQTT 3.1.1, 3.3] */
function toPublish({
  topic,
  payload,
  id,
  retain,
}: {
  readonly topic: string
  readonly payload: Uint8Array
  readonly id: number
  readonly retain: boolean
}): Buffer {
  const topicBytes = Buffer.byteLength(topic)
  const rest = 2 + topicBytes + 2 + payload.length
  const frame = Buffer.allocUnsafe(1 + lengthBytes(rest) + rest)
  let at = frame.writeUInt8(retain ? HEAD | RETAIN : HEAD, 0)
  for (let left = rest; ; ) {
    const low = left & 0x7f
    left >>= 7
    at = frame.writeUInt8(left > 0 ? low | 0x80 : low, at)
    if (left === 0) break
  }
  at = frame.writeUInt16BE(topicBytes, at)
  at += frame.write(topic, at, 'utf8')
  at = frame.writeUInt16BE(id, at)
  frame.set(payload, at)
  return frame
}

function lengthBytes(length: number): number {
  if (length < 128) return 1
  if (length < 16_384) return 2
  return length < 2_097_152 ? 3 : 4
}
