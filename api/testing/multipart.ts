// For tests: bodies of multipart/form-data, built byte by byte.
export const BOUNDARY = 'b0undary'
export const MULTIPART = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }

export interface TestPart {
  readonly name: string
  readonly value: string | Uint8Array
  /** If set, the part is a file. */
  readonly filename?: string | undefined
  readonly type?: string | undefined
}

export function multipart(parts: readonly TestPart[]): Buffer {
  return Buffer.concat([...parts.map(part), Buffer.from(`--${BOUNDARY}--\r\n`)])
}

export function part({ name, value, filename, type }: TestPart): Buffer {
  const file = filename === undefined ? '' : `; filename="${filename}"`
  const media = type === undefined ? '' : `\r\nContent-Type: ${type}`
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}${media}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), Buffer.from(value), Buffer.from('\r\n')])
}

/** A form with these fields and a file. */
export function firmwareForm(
  fields: Readonly<Record<string, string>>,
  { value, ...about }: Partial<TestPart> = {},
): Buffer {
  const file = { name: 'file', filename: 'image.bin', type: 'application/x-image', ...about }
  return multipart([
    ...Object.entries(fields).map(([name, text]) => ({ name, value: text })),
    { ...file, value: value ?? 'the image' },
  ])
}
