// The headers of an image, whoever downloads it.
import type { FirmwareRecord } from '../../engine/ports/ota.ts'
import { isFresh, quoted } from './etag.ts'

export const etagOf = ({ sha256 }: FirmwareRecord): string => `sha256-${sha256}`

export function imageHeaders(record: FirmwareRecord, cacheControl: string): Readonly<Record<string, string>> {
  return {
    'accept-ranges': 'bytes',
    etag: quoted(etagOf(record)),
    'repr-digest': `sha-256=:${Buffer.from(record.sha256, 'hex').toString('base64')}:`,
    'last-modified': lastModified(record),
    'cache-control': cacheControl,
    'content-type': record.contentType,
    'content-disposition': dispositionOf(record),
  }
}

/** Whether a range applies [RFC 9110 §13.1.5]: the client's partial copy must be of this exact image. */
export function isSameImage(ifRange: string | undefined, record: FirmwareRecord): boolean {
  if (ifRange === undefined) return true
  if (ifRange.startsWith('W/')) return false
  return ifRange.startsWith('"') ? isFresh(ifRange, etagOf(record)) : ifRange === lastModified(record)
}

const lastModified = ({ createdAt }: FirmwareRecord) => new Date(createdAt).toUTCString()

/** [RFC 6266] The plain name is for clients that do not know the other one. */
export function dispositionOf({ filename }: FirmwareRecord): string {
  const plain = filename.replace(/[^\w. ()+-]/g, '_')
  const encoded = encodeURIComponent(filename).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
