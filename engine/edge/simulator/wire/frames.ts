// Splits the bytes that a socket has read into whole MQTT packets. A read nearly always ends with a packet, so usually
// nothing has to be kept for the next read.

/** Calls `take` for each whole packet among the first `length` bytes. Returns the bytes of an incomplete packet at the
 *  end, as a view and not as a copy. */
export function cutFrames(
  bytes: Buffer,
  length: number,
  take: (bytes: Buffer, start: number, end: number) => void,
): Buffer | undefined {
  let at = 0
  while (at < length) {
    let size = 0
    let shift = 0
    let start = at + 1
    for (;;) {
      const byte = bytes[start]
      if (byte === undefined || start === length) return bytes.subarray(at, length)
      start++
      size |= (byte & 0x7f) << shift
      if (byte < 0x80) break
      shift += 7
      if (shift > 21) throw new RangeError('the length field of a packet has more than four bytes')
    }
    if (start + size > length) return bytes.subarray(at, length)
    take(bytes, at, start + size)
    at = start + size
  }
  return undefined
}
