import { may } from '../../data/access.ts'
import { useAnswer } from '../../data/answers.ts'
import { fleetStats } from '../../live/fleet-index.ts'
import { useLiveAnswers } from '../../live/live-answers.ts'
import { now } from '../../words/time.ts'
import { alertCases, commandCases, letterCases, rolloutCases, type ShownCase } from './more-cases.ts'

const EVERY_MS = 30_000
const ALERTS = {
  query: { state: 'firing', severity: 'warning,critical', acknowledged: false, snoozed: false },
}
const ROLLOUTS = { query: { status: 'in_progress,paused,failed,aborted', per_page: 50 } }

export interface MoreCases {
  readonly cases: readonly ShownCase[]
  /** Whether alerts are told by their rules. */
  readonly hasAlerts: boolean
  /** Open warnings and critical alerts, whoever takes care of them. */
  readonly openAlerts: number
  /** Something was never answered yet. */
  readonly isLoading: boolean
  /** What could not be asked for: cases may be missing. */
  readonly error: unknown
}

/** Only what the role may read is asked for. */
export function useMoreCases(): MoreCases {
  const seesRollouts = may('listDeployments')
  const seesLetters = may('summarizeDeadLetters')
  const alerts = useAnswer('listAlerts', { query: { ...ALERTS.query, per_page: 200 } }, { everyMs: EVERY_MS })
  const rollouts = useAnswer('listDeployments', ROLLOUTS, { everyMs: EVERY_MS, isWanted: seesRollouts })
  const letters = useAnswer('summarizeDeadLetters', {}, { everyMs: EVERY_MS, isWanted: seesLetters })
  useLiveAnswers({ channel: 'alerts' }, ['listAlerts'])
  useLiveAnswers(seesRollouts ? { channel: 'ota' } : undefined, ['listDeployments'])
  const open = fleetStats.value?.alerts
  return {
    cases: [
      ...(alerts.data === undefined ? [] : alertCases(alerts.data)),
      ...rolloutCases(rollouts.data?.data ?? [], now.peek()),
      ...letterCases(letters.data?.data ?? []),
      ...commandCases(may('sendCommand') ? (fleetStats.value?.commands?.failed_1h ?? 0) : 0),
    ],
    hasAlerts: alerts.data !== undefined,
    openAlerts: (open?.warning ?? 0) + (open?.critical ?? 0),
    isLoading:
      alerts.data === undefined ||
      (seesRollouts && rollouts.data === undefined) ||
      (seesLetters && letters.data === undefined),
    error: alerts.error ?? rollouts.error ?? letters.error,
  }
}
