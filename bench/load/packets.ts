// Encodes MQTT 3.1.1 packets in advance and parses them without creating objects, because the generator must need far less
// CPU than the broker.

export interface ConnectOptions {
  readonly clientId: string
  /** The password, which is sent with the client id as user name. Undefined for a broker that accepts anybody. */
  readonly password: string | undefined
  readonly keepAliveSec: number
}

export function encodeConnect({ clientId, password, keepAliveSec }: ConnectOptions): Buffer {
  const flags = password === undefined ? 0x02 : 0xc2
  const head = Buffer.from([0, 4, 0x4d, 0x51, 0x54, 0x54, 4, flags, keepAliveSec >> 8, keepAliveSec & 0xff])
  const fields = password === undefined ? [clientId] : [clientId, clientId, password]
  const body = Buffer.concat([head, ...fields.map(text)])
  return Buffer.concat([Buffer.from([0x10]), lengthBytes(body.length), body])
}

export interface PublishOptions {
  readonly topic: string
  readonly payload: Uint8Array
  readonly packetId: number
}

/** Encodes a PUBLISH with QoS 1 that is not retained. */
export function encodePublish({ topic, payload, packetId }: PublishOptions): Buffer {
  const body = Buffer.concat([text(topic), Buffer.from([packetId >> 8, packetId & 0xff]), payload])
  return Buffer.concat([Buffer.from([0x32]), lengthBytes(body.length), body])
}

/** Encodes a SUBSCRIBE with packet id 1. */
export function encodeSubscribe(filter: string, qos: 0 | 1): Buffer {
  const body = Buffer.concat([Buffer.from([0, 1]), text(filter), Buffer.from([qos])])
  return Buffer.concat([Buffer.from([0x82]), lengthBytes(body.length), body])
}

export const DISCONNECT = Buffer.from([0xe0, 0])

export interface PacketRing {
  /** The ring is written twice, so that any run of up to `size` packets is one slice. */
  readonly bytes: Buffer
  readonly packetBytes: number
  readonly size: number
}

export interface RingOptions {
  readonly topic: string
  /** Payloads of equal length. `size` of them are used, beginning at `offset` and wrapping around at the end. */
  readonly payloads: readonly Uint8Array[]
  readonly offset: number
  readonly size: number
}

/** Encodes `size` publishes with the packet ids 1 to `size`. */
export function encodeRing({ topic, payloads, offset, size }: RingOptions): PacketRing {
  const packets = Array.from({ length: size }, (_, at) => {
    const payload = payloads[(offset + at) % payloads.length] ?? new Uint8Array()
    return encodePublish({ topic, payload, packetId: at + 1 })
  })
  const packetBytes = packets[0]?.length ?? 0
  if (packets.some((packet) => packet.length !== packetBytes)) throw new Error('payloads differ in length')
  return { bytes: Buffer.concat([...packets, ...packets]), packetBytes, size }
}

/** Reads a broker's answers to a publisher: CONNACK, PUBACK and PINGRESP. Packets may be split anywhere. */
export class AckReader {
  /** The return code of the CONNACK; undefined before it arrives. */
  connack: number | undefined
  /** The packet id of the last PUBACK. */
  lastId = 0
  readonly #carry = new Uint8Array(4)
  #carried = 0

  /** Returns how many PUBACKs are complete after the first `length` of these bytes. */
  read(bytes: Uint8Array, length: number): number {
    let at = 0
    let acks = 0
    while (this.#carried > 0 && at < length) {
      this.#carry[this.#carried++] = bytes[at++] ?? 0
      const size = packetSize(this.#carry, this.#carried)
      if (size === this.#carried) {
        acks += this.#take(this.#carry, 0)
        this.#carried = 0
      }
    }
    while (at < length) {
      const size = bytes[at] === 0x40 ? 4 : packetSize(bytes.subarray(at, length), length - at)
      if (at + size > length) break
      acks += this.#take(bytes, at)
      at += size
    }
    while (at < length) this.#carry[this.#carried++] = bytes[at++] ?? 0
    return acks
  }

  #take(bytes: Uint8Array, at: number): number {
    const kind = bytes[at]
    if (kind === 0x20) this.connack = bytes[at + 3] ?? 0xff
    if (kind !== 0x40) return 0
    this.lastId = ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)
    return 1
  }
}

export interface RawPacket {
  /** The first byte: kind and flags. */
  readonly head: number
  readonly body: Buffer
}

/** Cuts the bytes from a broker to a subscriber into packets. The bytes may arrive split anywhere. */
export class PacketReader {
  #rest: Buffer = Buffer.alloc(0)

  read(chunk: Buffer): readonly RawPacket[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const packets: RawPacket[] = []
    let at = 0
    for (;;) {
      let start = at + 1
      while (start < bytes.length && (bytes[start] ?? 0) >= 0x80) start++
      if (start >= bytes.length) break
      let length = 0
      for (let k = start; k > at; k--) length = length * 128 + ((bytes[k] ?? 0) & 0x7f)
      const end = start + 1 + length
      if (end > bytes.length) break
      packets.push({ head: bytes[at] ?? 0, body: bytes.subarray(start + 1, end) })
      at = end
    }
    this.#rest = bytes.subarray(at)
    return packets
  }
}

function packetSize(bytes: Uint8Array, available: number): number {
  const kind = bytes[0]
  if (kind === 0x40 || kind === 0x20) return 4
  if (kind === 0xd0) return 2
  throw new Error(`unexpected packet 0x${kind?.toString(16)} (${available} bytes) for a publisher`)
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes])
}

function lengthBytes(length: number): Buffer {
  const bytes: number[] = []
  let rest = length
  do {
    const low = rest % 128
    rest = Math.floor(rest / 128)
    bytes.push(rest > 0 ? low | 0x80 : low)
  } while (rest > 0)
  return Buffer.from(bytes)
}
