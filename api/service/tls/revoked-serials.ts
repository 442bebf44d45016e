// Reads the serial numbers in a certificate revocation list (RFC 5280, PEM or DER). TLS checks its signature.

const SEQUENCE = 0x30
const INTEGER = 0x02
const TIMES: ReadonlySet<number> = new Set([0x17, 0x18])
const NO_LIST = 'not a certificate revocation list'
const PEM = /-----BEGIN X509 CRL-----([A-Za-z0-9+/=\s]+)-----END X509 CRL-----/g
const PEM_BEGIN = /-----BEGIN X509 CRL-----/g
const PEM_LINE = /.{1,64}/g

/** The serial numbers in the format of `toSerial`. Throws if the content is not a revocation list. */
export function revokedSerials(content: Buffer): ReadonlySet<string> {
  const text = content.toString('latin1')
  const lists = [...text.matchAll(PEM)].map(([, base64 = '']) => Buffer.from(base64, 'base64'))
  // Otherwise a file that is only half written would pass for a shorter list, and let revoked certificates in.
  if (lists.length > 0 && lists.length !== [...text.matchAll(PEM_BEGIN)].length) throw new Error(NO_LIST)
  return new Set((lists.length === 0 ? [content] : lists).flatMap(serialsOf))
}

/** The same list in PEM, which is the only form that Node's TLS reads. */
export function asPem(content: Buffer): Buffer {
  if (content[0] !== SEQUENCE) return content
  const lines = content.toString('base64').match(PEM_LINE) ?? []
  return Buffer.from(['-----BEGIN X509 CRL-----', ...lines, '-----END X509 CRL-----', ''].join('\n'))
}

/** Normalises a hexadecimal serial number: upper case, without leading zeros. */
export function toSerial(hexadecimal: string): string {
  return hexadecimal.toUpperCase().replace(/^0+(?=.)/, '')
}

function serialsOf(list: Buffer): readonly string[] {
  const [signed] = valuesIn(sequenceIn(valuesIn(list)[0]))
  const fields = valuesIn(sequenceIn(signed))
  // The fields are an optional version, algorithm and issuer, followed by one or two times.
  const times = fields.findIndex(({ tag }) => TIMES.has(tag))
  if (times < 0) throw new Error(NO_LIST)
  const after = fields.slice(times).find(({ tag }) => !TIMES.has(tag))
  if (after === undefined || after.tag !== SEQUENCE) return []
  return valuesIn(after.content).map((entry) => {
    const [serial] = valuesIn(entry.content)
    if (serial?.tag !== INTEGER) throw new Error('an entry of the revocation list has no serial number')
    return toSerial(serial.content.toString('hex'))
  })
}

interface Value {
  readonly tag: number
  readonly content: Buffer
}

function sequenceIn(value: Value | undefined): Buffer {
  if (value?.tag !== SEQUENCE) throw new Error(NO_LIST)
  return value.content
}

function valuesIn(bytes: Buffer): readonly Value[] {
  const values: Value[] = []
  let at = 0
  while (at < bytes.length) {
    const first = bytes[at + 1] ?? 0
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f
    if (lengthBytes > 4 || at + 2 + lengthBytes > bytes.length) throw new Error('not DER')
    const start = at + 2 + lengthBytes
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes)
    if (start + length > bytes.length) throw new Error('not DER')
    const end = start + length
    values.push({ tag: bytes[at] ?? 0, content: bytes.subarray(start, end) })
    at = end
  }
  return values
}
