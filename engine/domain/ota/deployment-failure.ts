// Deployments that failed, or were aborted or paused without a person, as alert rules see them.
import type { DeploymentId, Millis } from '../../../schemas/ids.ts'
import type { Deployment } from './deployment.ts'

export interface DeploymentFailure {
  readonly deploymentId: DeploymentId
  /** Identifies the failure: reading the same one again gives the same id. */
  readonly key: string
  readonly at: Millis
  /** The version, the status and its reason, for people. */
  readonly summary: string
}

/** Reasons for a pause that a person decided on. */
const USER_PAUSES: ReadonlySet<string | undefined> = new Set([undefined, 'user', 'approval'])

export function failureOf(deployment: Deployment): DeploymentFailure | undefined {
  const { id, status, statusReason, abortedAt, statusSince, finishedAt, createdAt, firmware } = deployment
  const isPausedByItself = status === 'paused' && !USER_PAUSES.has(statusReason)
  const isFailure = status === 'failed' || abortedAt !== undefined || isPausedByItself
  if (!isFailure || status === 'cancelled') return undefined
  const at = abortedAt ?? statusSince ?? finishedAt ?? createdAt
  const words = [firmware.version, status, ...(statusReason === undefined ? [] : [`(${statusReason})`])]
  return { deploymentId: id, key: `${id} ${at}`, at, summary: words.join(' ') }
}
