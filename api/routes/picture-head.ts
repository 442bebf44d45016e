// Reads the head of a picture: its type, and the dimensions that a browser would decode it to.
import type { FLOOR_PLAN_TYPES } from '../../schemas/floor-plan.ts'

export interface PictureHead {
  readonly type: (typeof FLOOR_PLAN_TYPES)[number]
  readonly width: number
  readonly height: number
}

type Size = Pick<PictureHead, 'width' | 'height'>

/** Undefined for anything but a PNG, JPEG or WebP, and for one without dimensions. SVG is excluded: it could hold a script.
 *  */
export function parsePictureHead(picture: Buffer): PictureHead | undefined {
  const found = headOf(picture)
  return found !== undefined && found.width > 0 && found.height > 0 ? found : undefined
}

function headOf(picture: Buffer): PictureHead | undefined {
  if (hasText(picture, 0, '\x89PNG\r\n\x1a\n')) return withType('image/png', pngSize(picture))
  if (hasText(picture, 0, '\xff\xd8\xff')) return withType('image/jpeg', jpegSize(picture))
  const isWebp = hasText(picture, 0, 'RIFF') && hasText(picture, 8, 'WEBP')
  return isWebp ? withType('image/webp', webpSize(picture)) : undefined
}

function withType(type: PictureHead['type'], size: Size | undefined): PictureHead | undefined {
  return size && { type, ...size }
}

function hasText(picture: Buffer, at: number, text: string): boolean {
  return picture.subarray(at, at + text.length).equals(Buffer.from(text, 'latin1'))
}

/** The first chunk of a PNG is IHDR. */
function pngSize(picture: Buffer): Size | undefined {
  if (!hasText(picture, 12, 'IHDR') || picture.length < 24) return undefined
  return { width: picture.readUInt32BE(16), height: picture.readUInt32BE(20) }
}

const START_OF_FRAME = { first: 0xc0, last: 0xcf }
/** Codes in that range that are not frames: tables, an extension, arithmetic coding. */
const NO_FRAMES: ReadonlySet<number> = new Set([0xc4, 0xc8, 0xcc])

/** The size is in the segment of the frame. A preview is inside an earlier segment, which is skipped. */
function jpegSize(picture: Buffer): Size | undefined {
  for (let at = 2; at + 9 <= picture.length && picture[at] === 0xff; ) {
    const code = picture.readUInt8(at + 1)
    // Any number of 0xff bytes may precede a marker.
    if (code === 0xff) {
      at++
      continue
    }
    if (code >= START_OF_FRAME.first && code <= START_OF_FRAME.last && !NO_FRAMES.has(code))
      return { height: picture.readUInt16BE(at + 5), width: picture.readUInt16BE(at + 7) }
    at += 2 + picture.readUInt16BE(at + 2)
  }
  return undefined
}

/** The first chunk holds the size, in a different form for each of the three kinds of WebP. */
function webpSize(picture: Buffer): Size | undefined {
  if (picture.length < 30) return undefined
  if (hasText(picture, 12, 'VP8X'))
    return { width: picture.readUIntLE(24, 3) + 1, height: picture.readUIntLE(27, 3) + 1 }
  if (hasText(picture, 12, 'VP8L') && picture[20] === 0x2f) {
    const bits = picture.readUInt32LE(21)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  if (hasText(picture, 12, 'VP8 ') && hasText(picture, 23, '\x9d\x01\x2a'))
    return { width: picture.readUInt16LE(26) & 0x3fff, height: picture.readUInt16LE(28) & 0x3fff }
  return undefined
}
