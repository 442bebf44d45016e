// Cuts what a socket read into whole packets. Nearly always a read ends with a packet, so nothing is kept between reads.

/** Calls `take` for each whole packet, and returns the bytes of one that has only begun. They are no copy. */
export function cutFrames(
  bytes: Buffer,
  take: (bytes: Buffer, start: number, end: number) => void,
): Buffer | undefined {
  let at = 0
  while (at < bytes.length) {
    let length = 0
    let shift = 0
    let start = at + 1
    for (;;) {
      const byte = bytes[start]
      if (byte === undefined) return bytes.subarray(at)
      start++
      length |= (byte & 0x7f) << shift
      if (byte < 0x80) break
      shift += 7
      if (shift > 21) throw new RangeError('a packet has a length that no packet has')
    }
    if (start + length > bytes.length) return bytes.subarray(at)
    take(bytes, at, start + length)
    at = start + length
  }
  return undefined
}
