// Entries of the audit for what a deployment decides by itself, without a call to the API.
import type { AuditEntry } from '../../domain/audit/entry.ts'
import type { Deployment } from '../../domain/ota/deployment.ts'
import type { Grant } from '../../domain/ota/grant-plan.ts'

const ACTOR = { type: 'ota', id: 'ota' } as const

/** Undefined unless the deployment was aborted in this step by its own thresholds. */
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

/** Entries for the devices that a deployment rolls back. */
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
