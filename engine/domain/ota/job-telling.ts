// Which message about firmware is due for a device, and when to check again. A message is sent only to a live session that
// subscribed to the topic. It is sent again in every new session and when its PUBACK is missing, up to a limit.
import type { DeploymentId, FirmwareId, Micros, Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Job, Telling } from './job.ts'

/** A message for the device. It is completed where it is sent, because a shard cannot sign. */
export interface OtaSend {
  readonly deploymentId: DeploymentId
  readonly firmwareId: FirmwareId
  readonly action: 'install' | 'rollback' | 'cancel'
  readonly attempt: number
  readonly seq: number
  readonly force: boolean
  readonly notAfter: Millis | undefined
  readonly issuedAt: Millis
}

export interface TellContext {
  /** The number of the session that subscribed to the topic; undefined if none did. */
  readonly session: Micros | undefined
  readonly now: Millis
}

export interface JobMessage {
  readonly job: Job
  readonly send: Omit<OtaSend, 'seq'>
}

/** The job with this message counted, and the message; undefined if nothing is due. */
export function tellJob(job: Job, context: TellContext): JobMessage | undefined {
  if (context.session === undefined) return undefined
  if (job.status === 'rolling_back' && job.back !== undefined) {
    const told = tellJob(job.back, context)
    return told && { job: { ...job, back: told.job }, send: told.send }
  }
  if (job.notice !== undefined)
    return isDue(job.notice, context)
      ? { job: { ...job, notice: counted(job.notice, context) }, send: toSend(job, 'cancel', context.now) }
      : undefined
  if (!job.isGranted || job.status !== 'pending' || !isDue(job.telling, context)) return undefined
  const action = job.plan.kind === 'rollback' ? 'rollback' : 'install'
  return { job: { ...job, telling: counted(job.telling, context) }, send: toSend(job, action, context.now) }
}

/** Sends the message of a running attempt again, because its URL has expired. */
export function refreshJob(
  job: Job,
  now: Millis,
): { readonly job: Job; readonly send: Omit<OtaSend, 'seq'> } | undefined {
  if (job.status === 'rolling_back' && job.back !== undefined) {
    const again = refreshJob(job.back, now)
    return again && { job: { ...job, back: again.job }, send: again.send }
  }
  if (!job.isGranted || (job.refreshedAt ?? 0) + LIMITS.otaRefreshMs > now) return undefined
  const action = job.plan.kind === 'rollback' ? 'rollback' : 'install'
  return { job: { ...job, refreshedAt: now }, send: toSend(job, action, now) }
}

/** When a message is due next; Infinity if never. */
export function tellDeadline(job: Job, context: TellContext): number {
  if (context.session === undefined) return Number.POSITIVE_INFINITY
  if (job.status === 'rolling_back' && job.back !== undefined) return tellDeadline(job.back, context)
  const telling = job.notice ?? (job.isGranted && job.status === 'pending' ? job.telling : undefined)
  if (telling === undefined || telling.sends >= LIMITS.otaSendsMax) return Number.POSITIVE_INFINITY
  return isDue(telling, context) ? context.now : (telling.sentAt ?? 0) + LIMITS.otaRetryMs
}

function isDue({ sends, sentAt, sentIn }: Telling, { session, now }: TellContext): boolean {
  if (sends >= LIMITS.otaSendsMax) return false
  return sentIn !== session || sentAt === undefined || sentAt + LIMITS.otaRetryMs <= now
}

function counted({ sends, firstIn }: Telling, { session, now }: TellContext): Telling {
  return { sends: sends + 1, sentAt: now, firstIn: firstIn ?? session, sentIn: session }
}

function toSend(
  { plan, attempt, notAfter }: Job,
  action: OtaSend['action'],
  now: Millis,
): Omit<OtaSend, 'seq'> {
  const { deploymentId, goal, force } = plan
  return { deploymentId, firmwareId: goal.firmwareId, action, attempt, force, notAfter, issuedAt: now }
}
