// Reads DER, the binary encoding of signing requests. The input is untrusted, so every bound is checked.

export interface DerValue {
  readonly tag: number
  readonly content: Buffer
  /** Includes tag and length. */
  readonly whole: Buffer
}

export class DerError extends Error {
  override readonly name = 'DerError'
}

/** Reads the consecutive values in these bytes. */
export function readValues(bytes: Buffer): readonly DerValue[] {
  const values: DerValue[] = []
  let at = 0
  while (at < bytes.length) {
    const { start, end } = contentAt(bytes, at)
    values.push({
      tag: bytes[at] ?? 0,
      content: bytes.subarray(start, end),
      whole: bytes.subarray(at, end),
    })
    at = end
  }
  return values
}

/** Returns the value if it exists and has this tag. */
export function expectTag(value: DerValue | undefined, tag: number): DerValue {
  if (value?.tag !== tag) throw new DerError('another kind of value was expected')
  return value
}

/** An object identifier in dotted form. */
export function readOid(value: DerValue | undefined): string {
  const { content } = expectTag(value, 0x06)
  const parts: number[] = []
  let part = 0
  for (const byte of content) {
    part = part * 128 + (byte & 0x7f)
    if ((byte & 0x80) !== 0) continue
    parts.push(part)
    part = 0
  }
  const [first = 0, ...rest] = parts
  const root = Math.min(2, Math.floor(first / 40))
  return [root, first - root * 40, ...rest].join('.')
}

function contentAt(bytes: Buffer, at: number): { readonly start: number; readonly end: number } {
  const first = bytes[at + 1] ?? 0
  const sizeBytes = first < 0x80 ? 0 : first & 0x7f
  // Indefinite lengths are not DER, and no request has gigabytes.
  if (first === 0x80 || sizeBytes > 3 || at + 2 + sizeBytes > bytes.length)
    throw new DerError('a length is not valid')
  const length = sizeBytes === 0 ? first : bytes.readUIntBE(at + 2, sizeBytes)
  const start = at + 2 + sizeBytes
  if (start + length > bytes.length) throw new DerError('the bytes end too early')
  return { start, end: start + length }
}
