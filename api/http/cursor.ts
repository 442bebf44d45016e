// The cursor of a list that only grows: the place of the last row given, opaque to its user.
import { HISTORY_KINDS } from '../../engine/domain/history/row.ts'
import type { HistoryPlace } from '../../engine/ports/history.ts'
import { Micros } from '../../schemas/ids.ts'

export function toCursor({ at, version, kind }: HistoryPlace): string {
  const place = kind === undefined ? [at, version] : [at, version, kind]
  return Buffer.from(place.join(' ')).toString('base64url')
}

/** [RFC 8288] The link to the next page; relative, as the links of pages. */
export function nextLink(url: string, cursor: string): string {
  const [path = '', search = ''] = url.split('?', 2)
  const query = new URLSearchParams(search)
  query.set('cursor', cursor)
  return `<${path}?${query}>; rel="next"`
}

/** Undefined for anything that is no cursor of ours. */
export function parseCursor(cursor: string): HistoryPlace | undefined {
  const found = /^(\d{1,16}) (\d{1,16})(?: ([a-z]+))?$/.exec(
    Buffer.from(cursor, 'base64url').toString('latin1'),
  )
  const kind = HISTORY_KINDS.find((word) => word === found?.[3])
  const [at, version] = [Number(found?.[1]), Number(found?.[2])]
  if (found === null || (found[3] !== undefined && kind === undefined)) return undefined
  if (!Number.isSafeInteger(at) || !Number.isSafeInteger(version)) return undefined
  return { at: Micros(at), version, kind }
}
