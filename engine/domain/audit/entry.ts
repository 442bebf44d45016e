// Entries of the audit, and the rows in which they are stored.
import type { ACTOR_TYPES, AuditEntry as AuditBody } from '../../../schemas/audit.ts'
import { type DeviceId, Micros, type Millis, toIso } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AUDIT_OUTCOMES } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import type { WrittenRow } from '../history/row.ts'

export interface AuditActor {
  readonly type: (typeof ACTOR_TYPES)[number]
  readonly id?: string | undefined
  readonly name?: string | undefined
}

export interface AuditEntry {
  readonly actor: AuditActor
  readonly action: string
  /** What the action was about, as a path below `/api/v1/`. */
  readonly target?: string | undefined
  readonly deviceId?: DeviceId | undefined
  readonly outcome: (typeof AUDIT_OUTCOMES)[number]
  readonly code?: string | undefined
  readonly requestId?: string | undefined
  readonly ip?: string | undefined
  /** Names of fields, and numbers. It must not contain values from bodies, or secrets. */
  readonly detail?: JsonObject | undefined
}

/** An entry whose outcome is not known yet. It is about the device of the request. */
export type AuditDraft = Omit<AuditEntry, 'outcome' | 'code' | 'deviceId'>

/** No other entry of the same millisecond may have the same `number` (see `number.ts`). */
export function auditRow(
  entry: AuditEntry,
  { at, number, count }: { readonly at: Millis; readonly number: number; readonly count: number },
): WrittenRow {
  const { actor, action, target, deviceId, outcome, code, requestId, ip, detail } = entry
  const body: AuditBody = {
    id: `aud_${at.toString(36)}${number.toString(36)}`,
    at: toIso(at),
    actor: { type: actor.type, id: textOf(actor.id), name: textOf(actor.name) },
    action,
    target: textOf(target),
    device_id: deviceId ?? null,
    outcome,
    code: code ?? null,
    request_id: textOf(requestId),
    ip: textOf(ip),
    count,
    detail: detail ?? {},
  }
  return {
    deviceId: deviceId ?? '',
    kind: 'audit',
    at: Micros(at * 1000),
    version: number,
    body: JSON.stringify(body),
  }
}

/** Cuts a text, because callers choose some of them and their length. */
const textOf = (text: string | undefined) => text?.slice(0, LIMITS.auditTextCharsMax) ?? null
