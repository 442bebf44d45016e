// The cursor of an append-only list: the place of the last row given, opaque to its user.
import { HISTORY_KINDS } from '../../engine/domain/history/row.ts'
import type { HistoryKey, HistoryPlace } from '../../engine/ports/history.ts'
import { Micros } from '../../schemas/ids.ts'

export function toCursor({ at, version, kind }: Omit<HistoryKey, 'deviceId'>): string {
  return Buffer.from(`${at} ${version} ${kind}`).toString('base64url')
}

/** Undefined for anything that is no cursor of ours. */
export function parseCursor(cursor: string): HistoryPlace | undefined {
  const found = /^(\d{1,16}) (\d{1,16}) ([a-z]+)$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  const kind = HISTORY_KINDS.find((word) => word === found?.[3])
  const [at, version] = [Number(found?.[1]), Number(found?.[2])]
  if (kind === undefined || !Number.isSafeInteger(at) || !Number.isSafeInteger(version)) return undefined
  return { at: Micros(at), version, kind }
}
