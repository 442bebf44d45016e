// A member's part in a deployment, as shown in lists.
import type { DeviceId, Millis } from '../../../schemas/ids.ts'
import type { Deployment } from '../../domain/ota/deployment.ts'
import { isUnfinished, jobOf } from '../../domain/ota/firmware-jobs.ts'
import { type FirmwareState, heldAt } from '../../domain/ota/tally.ts'
import type { MemberJob, MemberQuery } from '../../ports/deployments.ts'
import { heldByDeployment } from './live-deployment.ts'

export function toMemberJob(
  deviceId: DeviceId,
  state: FirmwareState | undefined,
  about: {
    readonly deployment: Deployment
    readonly stage: number
    readonly isFamilyBusy: boolean
    readonly now: Millis
  },
): MemberJob {
  const { deployment, now } = about
  const job = state && jobOf(state.firmware, deployment.id)
  const byDeployment = heldByDeployment(deployment, about)
  if (state === undefined || job === undefined) return { kind: 'none', deviceId, held: byDeployment }
  const isHeld = job.status === 'pending' && !job.isGranted && isUnfinished(job)
  return { kind: 'job', deviceId, job, held: isHeld ? (heldAt(job, state, now) ?? byDeployment) : undefined }
}

export function fits(each: MemberJob, { status, held }: MemberQuery): boolean {
  const is = each.kind === 'job' ? each.job.status : each.kind === 'skipped' ? 'skipped' : 'pending'
  const by = each.kind === 'skipped' ? undefined : each.held
  return (status === undefined || status.split(',').includes(is)) && (held === undefined || held === by)
}
