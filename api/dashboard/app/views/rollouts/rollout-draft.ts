// What is being written in the form of a new rollout, and the request that it becomes. Fields hold texts; an empty one leaves the
// choice to the service.
import type { DeploymentRequestBody } from '../../../../../schemas/deployment.ts'
import { localMs } from '../../words/local-time.ts'

export const STRATEGIES = ['canary', 'rolling', 'all'] as const
export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export const PHASES = ['download', 'install', 'reboot', 'confirm'] as const
export type Phase = (typeof PHASES)[number]

export interface WindowDraft {
  readonly days: readonly (typeof DAYS)[number][]
  readonly start: string
  readonly hours: string
  readonly tz: string
}

export interface RolloutDraft {
  readonly name: string
  readonly strategy: (typeof STRATEGIES)[number]
  readonly percent: string
  readonly soakMin: string
  readonly slots: string
  readonly failures: string
  readonly isRolledBack: boolean
  /** The text of a field of local time. */
  readonly startAt: string
  readonly windows: readonly WindowDraft[]
  readonly timeoutsMin: Readonly<Record<Phase, string>>
}

export const FIRST_DRAFT: RolloutDraft = {
  name: '',
  strategy: 'canary',
  percent: '10',
  soakMin: '5',
  slots: '10',
  failures: '20',
  isRolledBack: true,
  startAt: '',
  windows: [],
  timeoutsMin: { download: '', install: '', reboot: '', confirm: '' },
}

type What = Pick<DeploymentRequestBody, 'firmware_id' | 'target'>

export function toRequest(draft: RolloutDraft, what: What): DeploymentRequestBody {
  const timeouts = Object.fromEntries(
    PHASES.flatMap((phase) => {
      const minutes = draft.timeoutsMin[phase].trim()
      return minutes === '' ? [] : [[`${phase}_sec`, Math.round(Number(minutes) * 60)]]
    }),
  )
  const name = draft.name.trim()
  return {
    ...what,
    ...(name === '' ? {} : { name }),
    strategy: draft.strategy,
    max_concurrent: Number(draft.slots),
    rollback_on_failure: draft.isRolledBack,
    abort: { failure_percent: Number(draft.failures) },
    ...(draft.strategy === 'canary'
      ? { canary: { percent: Number(draft.percent), soak_sec: Math.round(Number(draft.soakMin) * 60) } }
      : {}),
    ...(draft.startAt === '' ? {} : { start_at: new Date(localMs(draft.startAt)).toISOString() }),
    ...(draft.windows.length === 0 ? {} : { windows: draft.windows.map(toWindow) }),
    ...(Object.keys(timeouts).length === 0 ? {} : { timeouts }),
  }
}

/** No day means every day. */
function toWindow({ days, start, hours, tz }: WindowDraft) {
  return {
    ...(days.length === 0 ? {} : { days: [...days] }),
    start,
    duration_min: Math.round(Number(hours) * 60),
    tz,
  }
}
