// Builds MQTT 3.1.1 packets as strings with one character per byte. Node passes such a string to the kernel as it is,
// whereas each Buffer would cost an object and a copy.

export interface PublishPacket {
  /** Contains one character per byte, as does `payload`. */
  readonly topic: string
  readonly payload: string
  /** The first byte of the packet. */
  readonly head: number
  /** Is zero for QoS 0. */
  readonly packetId: number
}

/** [MQTT 3.1.1, 3.3] */
export function toPublish({ topic, payload, head, packetId }: PublishPacket): string {
  const id = packetId === 0 ? '' : toWord(packetId)
  const rest = 2 + topic.length + id.length + payload.length
  return String.fromCharCode(head) + toLength(rest) + toWord(topic.length) + topic + id + payload
}

/** Encodes a number as two bytes, most significant byte first. */
export function toWord(value: number): string {
  return String.fromCharCode(value >> 8, value & 0xff)
}

/** Encodes a text as UTF-8, one character per byte. Nearly all texts are ASCII, which is UTF-8 already. */
export function toBytes(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1')
}

/** [MQTT 3.1.1, 2.2.3] */
function toLength(length: number): string {
  if (length < 0x80) return String.fromCharCode(length)
  return String.fromCharCode((length & 0x7f) | 0x80) + toLength(length >> 7)
}
