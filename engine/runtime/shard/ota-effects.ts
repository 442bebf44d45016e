// The effects of a job's move: a feed event, a row of the device's timeline, and the message to the device.
import { type DeviceId, Micros, type Millis, toIso } from '../../../schemas/ids.ts'
import type { HistoryRow } from '../../domain/history/row.ts'
import type { Job } from '../../domain/ota/job.ts'
import { type RowPlace, versionOf } from './history-rows.ts'

/** One row per move. */
export function jobRow(
  deviceId: DeviceId,
  { job, previous }: { readonly job: Job; readonly previous: Job['status'] | undefined },
  { now, ...rowPlace }: RowPlace & { readonly now: Millis },
): HistoryRow {
  const { plan, status, attempt, fromVersion, progress, error, late, back } = job
  return {
    deviceId,
    kind: 'ota',
    at: Micros(rowPlace.at + rowPlace.row),
    version: versionOf(rowPlace, plan.deploymentId, attempt, status, back?.attempt, back?.status),
    body: {
      deployment_id: plan.deploymentId,
      kind: plan.kind,
      status,
      previous: previous ?? null,
      attempt: back?.attempt ?? attempt,
      from_version: fromVersion ?? null,
      to_version: plan.goal.version,
      rollback_status: back?.status ?? null,
      progress: progress ?? null,
      late,
      error: error === undefined ? null : { code: error.code, message: error.message },
      timestamp: toIso(now),
    },
  }
}
