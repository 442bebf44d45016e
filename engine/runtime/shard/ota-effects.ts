// What follows from a job that moved: the feed, the device's timeline, and the message to the device.
import { type DeviceId, Micros, type Millis, toIso } from '../../../schemas/ids.ts'
import type { HistoryRow } from '../../domain/history/row.ts'
import type { Job } from '../../domain/ota/job.ts'

/** One row per move, told apart by its place in the log and its number among the rows of that moment. */
export function jobRow(
  deviceId: DeviceId,
  { job, previous }: { readonly job: Job; readonly previous: Job['status'] | undefined },
  {
    at: moment,
    row,
    place: version,
    now,
  }: {
    readonly at: number
    readonly row: number
    readonly place: number
    readonly now: Millis
  },
): HistoryRow {
  const { plan, status, attempt, fromVersion, progress, error, late, back } = job
  return {
    deviceId,
    kind: 'ota',
    at: Micros(moment + row),
    version,
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
