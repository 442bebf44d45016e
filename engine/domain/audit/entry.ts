// An entry of the audit, and the row it is kept as.
import type { ACTOR_TYPES, AUDIT_OUTCOMES, AuditEntry as AuditBody } from '../../../schemas/audit.ts'
import { type DeviceId, Micros, type Millis, toIso } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
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
  /** What it was done to: a path below the API's own. */
  readonly target?: string | undefined
  readonly deviceId?: DeviceId | undefined
  readonly outcome: (typeof AUDIT_OUTCOMES)[number]
  readonly code?: string | undefined
  readonly requestId?: string | undefined
  readonly ip?: string | undefined
  /** Field names and numbers: no values of bodies, no secrets. */
  readonly detail?: JsonObject | undefined
}

/** An entry before it is known what came of it; the device is that of the request it goes with. */
export type AuditDraft = Omit<AuditEntry, 'outcome' | 'code' | 'deviceId'>

/** `number`: unique, greater for what came later. */
export function auditRow(
  entry: AuditEntry,
  { at, number, count }: { readonly at: Millis; readonly number: number; readonly count: number },
): WrittenRow {
  const { actor, action, target, deviceId, outcome, code, requestId, ip, detail } = entry
  const body: AuditBody = {
    id: `aud_${number.toString(36)}`,
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

/** A caller chooses how long some of these are. */
const textOf = (text: string | undefined) => text?.slice(0, LIMITS.auditTextCharsMax) ?? null
