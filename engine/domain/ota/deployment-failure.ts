// Deployments that failed, were aborted or paused by themselves, as rules of alerts look at them.
import type { DeploymentId, Millis } from '../../../schemas/ids.ts'
import type { Deployment } from './deployment.ts'

export interface DeploymentFailure {
  readonly deploymentId: DeploymentId
  /** The same for the same failure, however often it is looked at. */
  readonly key: string
  readonly at: Millis
  /** The version, the status and its reason, for people. */
  readonly what: string
}

/** Reasons for a pause that somebody decided on. */
const WISHED: ReadonlySet<string | undefined> = new Set([undefined, 'user', 'approval'])

export function failureOf(deployment: Deployment): DeploymentFailure | undefined {
  const { id, status, statusReason, abortedAt, statusSince, finishedAt, createdAt, firmware } = deployment
  const isPausedByItself = status === 'paused' && !WISHED.has(statusReason)
  const isFailure = status === 'failed' || abortedAt !== undefined || isPausedByItself
  if (!isFailure || status === 'cancelled') return undefined
  const at = abortedAt ?? statusSince ?? finishedAt ?? createdAt
  const words = [firmware.version, status, ...(statusReason === undefined ? [] : [`(${statusReason})`])]
  return { deploymentId: id, key: `${id} ${at}`, at, what: words.join(' ') }
}
