// Which message about firmware is due for a device, and when to check again. A message is sent only to a live session that
// subscribed to the topic. It is sent again in every new session and when its PUBACK is missing, up to a limit.
import type { DeploymentId, FirmwareId, Micros, Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Job, MessageDelivery } from './job.ts'

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

export interface OtaSendContext {
  /** The number of the session that subscribed to the topic; undefined if none did. */
  readonly session: Micros | undefined
  readonly now: Millis
}

export interface JobMessage {
  readonly job: Job
  readonly send: Omit<OtaSend, 'seq'>
}

/** The job with this message counted, and the message; undefined if nothing is due. */
export function nextJobMessage(job: Job, context: OtaSendContext): JobMessage | undefined {
  if (context.session === undefined) return undefined
  if (job.status === 'rolling_back' && job.back !== undefined) {
    const message = nextJobMessage(job.back, context)
    return message && { job: { ...job, back: message.job }, send: message.send }
  }
  if (job.notice !== undefined)
    return isDue(job.notice, context)
      ? {
          job: { ...job, notice: withAttempt(job.notice, context) },
          send: toSend(job, 'cancel', context.now),
        }
      : undefined
  if (!job.isGranted || job.status !== 'pending' || !isDue(job.telling, context)) return undefined
  return {
    job: { ...job, telling: withAttempt(job.telling, context) },
    send: toSend(job, job.plan.kind, context.now),
  }
}

/** Sends the message of a running attempt again, because its URL has expired. */
export function refreshJobMessage(job: Job, now: Millis): JobMessage | undefined {
  if (job.status === 'rolling_back' && job.back !== undefined) {
    const message = refreshJobMessage(job.back, now)
    return message && { job: { ...job, back: message.job }, send: message.send }
  }
  if (!job.isGranted || (job.refreshedAt ?? 0) + LIMITS.otaRefreshMs > now) return undefined
  return { job: { ...job, refreshedAt: now }, send: toSend(job, job.plan.kind, now) }
}

/** When a message is due next; Infinity if never. */
export function messageDeadline(job: Job, context: OtaSendContext): number {
  if (context.session === undefined) return Number.POSITIVE_INFINITY
  if (job.status === 'rolling_back' && job.back !== undefined) return messageDeadline(job.back, context)
  const telling = job.notice ?? (job.isGranted && job.status === 'pending' ? job.telling : undefined)
  if (telling === undefined || telling.sends >= LIMITS.otaSendsMax) return Number.POSITIVE_INFINITY
  return isDue(telling, context) ? context.now : (telling.sentAt ?? 0) + LIMITS.otaRetryMs
}

function isDue({ sends, sentAt, sentIn }: MessageDelivery, { session, now }: OtaSendContext): boolean {
  if (sends >= LIMITS.otaSendsMax) return false
  return sentIn !== session || sentAt === undefined || sentAt + LIMITS.otaRetryMs <= now
}

function withAttempt({ sends, firstIn }: MessageDelivery, { session, now }: OtaSendContext): MessageDelivery {
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
