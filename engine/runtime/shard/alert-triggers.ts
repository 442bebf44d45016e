// Events that rules may wait for: a line of a device's log, a failed command, a parked message.
import { FAILED_STATUSES, type Leaf } from '../../../schemas/alert-condition.ts'
import type { Json } from '../../../schemas/json.ts'
import { type JobStatus, LOG_LEVELS, type LogLevel } from '../../../schemas/vocabulary.ts'
import type { Fit } from '../../domain/alert/fit.ts'
import type { Command } from '../../domain/command/record.ts'
import type { Job } from '../../domain/ota/job.ts'
import { unreachable } from '../../domain/unreachable.ts'

export type AlertTrigger =
  /** `line` is its number in its message. */
  | { readonly kind: 'log'; readonly level: LogLevel; readonly message: string; readonly line: number }
  | { readonly kind: 'command'; readonly command: Command }
  | { readonly kind: 'job'; readonly job: Job }
  | { readonly kind: 'parked'; readonly reason: string }

export interface EventLeaves {
  readonly leaves: ReadonlySet<number>
  readonly value: Json
}

const VALUE_CHARS_MAX = 256
/** A job fails when it enters one of these. What happens next, such as the rollback, is no failure of its own. */
const FAILED_JOBS: ReadonlySet<JobStatus> = new Set(['failed', 'timed_out', 'rejected', 'rollback_failed'])

/** Finds the leaves that wait for this event. */
export function eventLeaves(fit: Fit, trigger: AlertTrigger): EventLeaves {
  const leaves = new Set<number>()
  for (const place of fit.eventLeaves) {
    const leaf = fit.leaves[place]?.leaf
    const inner = leaf?.kind === 'repeat' ? leaf.condition : leaf
    if (inner !== undefined && isTriggeredBy(inner, trigger)) leaves.add(place)
  }
  return { leaves, value: displayedValue(trigger) }
}

function isTriggeredBy(leaf: Leaf, trigger: AlertTrigger): boolean {
  switch (trigger.kind) {
    case 'log':
      return (
        leaf.kind === 'log' &&
        LOG_LEVELS.indexOf(trigger.level) >= LOG_LEVELS.indexOf(leaf.level) &&
        (leaf.contains === undefined || trigger.message.includes(leaf.contains))
      )
    case 'command': {
      if (leaf.kind !== 'command_failed') return false
      const { command, statuses = FAILED_STATUSES } = leaf
      const isOfStatus = statuses.some((status) => status === trigger.command.status)
      return isOfStatus && (command === undefined || command === trigger.command.name)
    }
    case 'job':
      return leaf.kind === 'deployment_failed' && FAILED_JOBS.has(trigger.job.status)
    case 'parked':
      return leaf.kind === 'dead_letter' && (leaf.reason === undefined || leaf.reason === trigger.reason)
    default:
      return unreachable(trigger)
  }
}

function displayedValue(trigger: AlertTrigger): Json {
  switch (trigger.kind) {
    case 'log':
      return trigger.message.slice(0, VALUE_CHARS_MAX)
    case 'command':
      return `${trigger.command.name} ${trigger.command.status}`.slice(0, VALUE_CHARS_MAX)
    case 'job':
      return `${trigger.job.plan.goal.version} ${trigger.job.status}`.slice(0, VALUE_CHARS_MAX)
    case 'parked':
      return trigger.reason
    default:
      return unreachable(trigger)
  }
}
