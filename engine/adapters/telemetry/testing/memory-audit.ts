// The audit in memory. The real one must return the same.
import { byAge } from '../../../domain/history/row.ts'
import type { AuditFilter, AuditQuery, AuditRow } from '../../../ports/audit.ts'
import type { WrittenRow } from '../../../ports/history.ts'

type Row = Omit<WrittenRow, 'body'> & AuditRow

export class MemoryAudit {
  /** Keyed by time and version. */
  readonly #rows = new Map<string, Row>()

  insert(rows: readonly Row[]): void {
    for (const row of rows) this.#rows.set(`${row.at} ${row.version}`, row)
  }

  count(filter: AuditFilter): number {
    return [...this.#rows.values()].filter((row) => isMatch(row, filter)).length
  }

  read({ before, limit, offset = 0, ...filter }: AuditQuery): readonly AuditRow[] {
    return [...this.#rows.values()]
      .filter((row) => isMatch(row, filter))
      .sort(byAge)
      .filter(
        ({ at, version }) =>
          before === undefined || at < before.at || (at === before.at && version < before.version),
      )
      .slice(offset, offset + limit)
      .map(({ at, version, body }) => ({ at, version, body }))
  }
}

function isMatch({ at, deviceId, body }: Row, filter: AuditFilter): boolean {
  const { action, target, outcome, ip, actor, from, to } = filter
  // `domain/audit/entry.ts` writes it like this.
  const { id, name } = body['actor'] as { readonly id: string | null; readonly name: string | null }
  return (
    Object.entries({ action, target, outcome, ip }).every(
      ([field, wanted]) => wanted === undefined || body[field] === wanted,
    ) &&
    (filter.deviceId === undefined || filter.deviceId === deviceId) &&
    (actor === undefined || actor === id || actor === name) &&
    (from === undefined || at >= from * 1000) &&
    (to === undefined || at < to * 1000)
  )
}
