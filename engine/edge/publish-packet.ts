// Packets of MQTT 3.1.1 as text with one character for each byte. Node hands such a text to the kernel as it is, while each
// buffer costs an object of its own and a copy.

export interface PublishPacket {
  /** One character for each byte, as is the payload. */
  readonly topic: string
  readonly payload: string
  /** The first byte of the packet. */
  readonly head: number
  /** Zero with QoS 0. */
  readonly packetId: number
}

/** [MQTT 3.1.1, 3.3] */
export function toPublish({ topic, payload, head, packetId }: PublishPacket): string {
  const id = packetId === 0 ? '' : toWord(packetId)
  const rest = 2 + topic.length + id.length + payload.length
  return String.fromCharCode(head) + toLength(rest) + toWord(topic.length) + topic + id + payload
}

/** Two bytes, the higher one first. */
export function toWord(value: number): string {
  return String.fromCharCode(value >> 8, value & 0xff)
}

/** UTF-8. Nearly all texts are ASCII, and so are their bytes already. */
export function toBytes(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1')
}

/** [MQTT 3.1.1, 2.2.3] */
function toLength(length: number): string {
  if (length < 0x80) return String.fromCharCode(length)
  return String.fromCharCode((length & 0x7f) | 0x80) + toLength(length >> 7)
}
