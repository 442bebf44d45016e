// The stored audit: entries of the whole service, newest first. They are written as rows, through the store's outbox.
import type { Micros, Millis } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'

export type { AuditActor, AuditDraft, AuditEntry } from '../domain/audit/entry.ts'

export interface AuditFilter {
  /** The id or the name of who did it. */
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly target?: string | undefined
  readonly deviceId?: string | undefined
  readonly outcome?: string | undefined
  readonly ip?: string | undefined
  /** [from, to). */
  readonly from?: Millis | undefined
  readonly to?: Millis | undefined
}

/** Entries are ordered by time, then number. */
export interface AuditPlace {
  readonly at: Micros
  readonly version: number
}

export interface AuditQuery extends AuditFilter {
  /** Only entries older than this one: the last row of the previous page. */
  readonly before?: AuditPlace | undefined
  readonly limit: number
  /** Rows to skip; far slower than `before` when there are many. */
  readonly offset?: number | undefined
}

/** A stored entry. Its body is what the API shows. */
export interface AuditRow extends AuditPlace {
  readonly body: JsonObject
}

export interface AuditTrail {
  /** Newest first, each row once however often it was inserted. */
  audit(query: AuditQuery): Promise<readonly AuditRow[]>
  countAudit(filter: AuditFilter): Promise<number>
}
