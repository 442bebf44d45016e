// Reads how long a caller wants to wait for a final status: the query `wait`, or the header `Prefer: wait` (RFC 7240).
import { BODY_LIMITS } from '../../schemas/body-limits.ts'

export interface Wait {
  readonly seconds: number
  readonly headers: Readonly<Record<string, string>>
}

const PREFERENCE = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i

/** A preference that is too long is shortened to the maximum, and the answer says so. */
export function readWait(query: number | undefined, prefer: string | undefined): Wait {
  if (query !== undefined) return { seconds: query, headers: {} }
  const wanted = prefer === undefined ? undefined : PREFERENCE.exec(prefer)?.[1]
  if (wanted === undefined) return { seconds: 0, headers: {} }
  const seconds = Math.min(Number(wanted), BODY_LIMITS.waitSecMax)
  return { seconds, headers: { 'preference-applied': `wait=${seconds}` } }
}
