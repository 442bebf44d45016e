// What a deployment decides by itself, as entries of the audit: nobody called for it.
import type { AuditEntry } from '../../domain/audit/entry.ts'
import type { Deployment } from '../../domain/ota/deployment.ts'
import type { Grant } from '../../domain/ota/grant-plan.ts'

const ACTOR = { type: 'ota', id: 'ota' } as const

/** Undefined unless the deployment stopped in this step because of its own thresholds. */
export function abortEntry(before: Deployment, after: Deployment): AuditEntry | undefined {
  if (after.abortedAt === undefined || before.abortedAt !== undefined) return undefined
  return {
    actor: ACTOR,
    action: 'ota.abort',
    target: `ota/deployments/${after.id}`,
    outcome: 'success',
    detail: { reason: after.statusReason ?? null, status: after.status },
  }
}

/** Devices that a deployment takes back. */
export function rollbackEntries(grants: readonly Grant[]): readonly AuditEntry[] {
  return grants
    .filter(({ kind }) => kind === 'back')
    .map(({ deploymentId, deviceId }) => ({
      actor: ACTOR,
      action: 'ota.rollback',
      target: `ota/deployments/${deploymentId}`,
      deviceId,
      outcome: 'success',
    }))
}
