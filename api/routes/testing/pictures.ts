// For tests: the first bytes of pictures, as far as the size is read from them.

export function png(width: number, height: number): Buffer {
  return Buffer.concat([bytes('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'), be32(width), be32(height), Buffer.alloc(5)])
}

/** Includes a preview of 160 × 120 pixels in a segment before the frame, as cameras write it. */
export function jpeg(width: number, height: number): Buffer {
  const preview = frame(160, 120)
  const segment = Buffer.concat([bytes('\xff\xe1'), be16(2 + preview.length), preview])
  return Buffer.concat([bytes('\xff\xd8'), segment, bytes('\xff'), frame(width, height)])
}

function frame(width: number, height: number): Buffer {
  return Buffer.concat([bytes('\xff\xc2\0\x11\x08'), be16(height), be16(width), Buffer.alloc(10)])
}

export function webp(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const data = { 'VP8 ': lossy, VP8L: lossless, VP8X: extended }[kind](width, height)
  return Buffer.concat([bytes(`RIFF\0\0\0\0WEBP${kind}\0\0\0\0`), data, Buffer.alloc(4)])
}

function lossy(width: number, height: number): Buffer {
  // The upper two bits scale the picture for display and do not belong to its size.
  return Buffer.concat([bytes('\0\0\0\x9d\x01\x2a'), le(width | 0xc000, 2), le(height | 0x4000, 2)])
}

function lossless(width: number, height: number): Buffer {
  const bits = width - 1 + (height - 1) * 2 ** 14 + 2 ** 28
  return Buffer.concat([bytes('\x2f'), le(bits, 4), Buffer.alloc(4)])
}

function extended(width: number, height: number): Buffer {
  return Buffer.concat([Buffer.alloc(4), le(width - 1, 3), le(height - 1, 3)])
}

const bytes = (text: string) => Buffer.from(text, 'latin1')

function be16(value: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeUInt16BE(value)
  return buffer
}

function be32(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeUInt32BE(value)
  return buffer
}

function le(value: number, size: number): Buffer {
  const buffer = Buffer.alloc(size)
  buffer.writeUIntLE(value, 0, size)
  return buffer
}
