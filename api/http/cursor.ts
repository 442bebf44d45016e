// The cursor of a list that only grows. It encodes the place of the last row returned, and is opaque to clients.
import { HISTORY_KINDS } from '../../engine/domain/history/row.ts'
import type { HistoryPlace } from '../../engine/ports/history.ts'
import { Micros } from '../../schemas/ids.ts'
import { pathOf, queryOf } from './problems.ts'

export function toCursor({ at, version, kind }: HistoryPlace): string {
  const place = kind === undefined ? [at, version] : [at, version, kind]
  return Buffer.from(place.join(' ')).toString('base64url')
}

/** [RFC 8288] The link to the next page. It is relative, like the links of numbered pages. */
export function nextLink(url: string, cursor: string): string {
  const query = new URLSearchParams(queryOf(url))
  query.set('cursor', cursor)
  return `<${pathOf(url)}?${query}>; rel="next"`
}

/** Undefined for text that is not such a cursor. */
export function parseCursor(cursor: string): HistoryPlace | undefined {
  const match = /^(\d{1,16}) (\d{1,16})(?: ([a-z]+))?$/.exec(
    Buffer.from(cursor, 'base64url').toString('latin1'),
  )
  const kind = HISTORY_KINDS.find((word) => word === match?.[3])
  const [at, version] = [Number(match?.[1]), Number(match?.[2])]
  if (match === null || (match[3] !== undefined && kind === undefined)) return undefined
  if (!Number.isSafeInteger(at) || !Number.isSafeInteger(version)) return undefined
  return { at: Micros(at), version, kind }
}
