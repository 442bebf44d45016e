// DER, the binary encoding of certificates: each value consists of a tag, a length and its content.

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  bytes: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  time: 0x18,
  enumerated: 0x0a,
} as const

export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content)
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body])
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes = length < 0x100 ? 1 : length < 0x1_0000 ? 2 : 3
  const written = Buffer.alloc(bytes + 1)
  written[0] = 0x80 | bytes
  written.writeUIntBE(length, 1, bytes)
  return written
}

export const sequence = (...content: readonly Uint8Array[]): Buffer => der(0x30, ...content)
export const set = (...content: readonly Uint8Array[]): Buffer => der(0x31, ...content)
/** An explicit tag `[n]` around whole values. */
export const tagged = (number: number, ...content: readonly Uint8Array[]): Buffer =>
  der(0xa0 | number, ...content)
/** An implicit tag `[n]`, which replaces the tag of the value. */
export const implicit = (number: number, content: Uint8Array): Buffer => der(0x80 | number, content)
export const bytes = (content: Uint8Array): Buffer => der(TAG.bytes, content)
export const text = (content: string): Buffer => der(TAG.utf8, Buffer.from(content))
export const yes = (): Buffer => der(TAG.boolean, Buffer.from([0xff]))

/** A non-negative integer. A zero byte in front keeps a leading 1 bit from meaning a sign. */
export function integer(value: number | Uint8Array): Buffer {
  const given = typeof value === 'number' ? Buffer.from(evenHex(value), 'hex') : value
  return der(TAG.integer, Buffer.alloc((given[0] ?? 0) & 0x80 ? 1 : 0), given)
}

function evenHex(value: number): string {
  const hex = value.toString(16)
  return hex.length % 2 === 0 ? hex : `0${hex}`
}

/** A bit string. Its first byte is the number of unused bits in the last byte. */
export function bits(content: Uint8Array, unused = 0): Buffer {
  return der(TAG.bits, Buffer.from([unused]), content)
}

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return der(TAG.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(value: number): readonly number[] {
  const digits = [value & 0x7f]
  for (let left = value >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80)
  return digits
}

/** A time with a two-digit year up to 2049 and a four-digit year from 2050, as RFC 5280 requires. */
export function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/[-:T]|\.\d+/g, '')
  return Number(digits.slice(0, 4)) < 2050
    ? der(TAG.utcTime, Buffer.from(digits.slice(2)))
    : der(TAG.time, Buffer.from(digits))
}

export function pem(label: string, content: Uint8Array): string {
  const lines =
    Buffer.from(content)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
