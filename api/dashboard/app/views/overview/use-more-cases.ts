import { may } from '../../data/access.ts'
import { useAnswer } from '../../data/answers.ts'
import { fleetStats } from '../../live/fleet-index.ts'
import { useLiveAnswers } from '../../live/live-answers.ts'
import { now } from '../../words/time.ts'
import {
  alertCases,
  commandCases,
  FAILED_STATUSES,
  issueCases,
  letterCases,
  rolloutCases,
  type ShownCase,
  serviceCases,
} from './more-cases.ts'
import { useReadiness } from './use-readiness.ts'

const EVERY_MS = 30_000
const HOUR_MS = 3_600_000
const ALERTS = {
  query: { state: 'firing', severity: 'warning,critical', acknowledged: false, snoozed: false },
}
const ROLLOUTS = { query: { status: 'in_progress,paused,failed,aborted', per_page: 50 } }
const ERRORS = { query: { status: ['error'], per_page: 200 } }

export interface MoreCases {
  readonly cases: readonly ShownCase[]
  /** Whether alerts are told by their rules. */
  readonly hasAlerts: boolean
  /** Whether devices with an error are told by their issues. */
  readonly hasIssues: boolean
  /** Open warnings and critical alerts, whoever takes care of them. */
  readonly openAlerts: number
  /** Something was never answered yet. */
  readonly isLoading: boolean
  /** What could not be asked for: cases may be missing. */
  readonly error: unknown
}

/** Only what the role may read is asked for. */
export function useMoreCases(hasErrors: boolean): MoreCases {
  const seesRollouts = may('listDeployments')
  const seesLetters = may('summarizeDeadLetters')
  const alerts = useAnswer('listAlerts', { query: { ...ALERTS.query, per_page: 200 } }, { everyMs: EVERY_MS })
  const rollouts = useAnswer('listDeployments', ROLLOUTS, { everyMs: EVERY_MS, isWanted: seesRollouts })
  const letters = useAnswer('summarizeDeadLetters', {}, { everyMs: EVERY_MS, isWanted: seesLetters })
  const errors = useAnswer('listDevices', ERRORS, { everyMs: EVERY_MS, isWanted: hasErrors })
  const failedCount = may('sendCommand') ? (fleetStats.value?.commands?.failed_1h ?? 0) : 0
  const failed = useAnswer(
    'listFleetCommands',
    { query: { status: [FAILED_STATUSES], limit: 200 } },
    { everyMs: EVERY_MS, isWanted: failedCount > 0 },
  )
  const readiness = useReadiness()
  useLiveAnswers({ channel: 'alerts' }, ['listAlerts'])
  useLiveAnswers(seesRollouts ? { channel: 'ota' } : undefined, ['listDeployments'])
  const open = fleetStats.value?.alerts
  const hasIssues = hasErrors && errors.data !== undefined
  const lately = (failed.data?.data ?? []).filter(
    ({ created_at }) => now.peek() - Date.parse(created_at) < HOUR_MS,
  )
  return {
    cases: [
      ...(readiness === undefined ? [] : serviceCases(readiness)),
      ...(alerts.data === undefined ? [] : alertCases(alerts.data)),
      ...(hasIssues ? issueCases(errors.data.data, errors.data.total) : []),
      ...rolloutCases(rollouts.data?.data ?? [], now.peek()),
      ...letterCases(letters.data?.data ?? []),
      ...(failedCount === 0 ? [] : commandCases(failedCount, lately.slice(0, failedCount))),
    ],
    hasAlerts: alerts.data !== undefined,
    hasIssues,
    openAlerts: (open?.warning ?? 0) + (open?.critical ?? 0),
    isLoading:
      alerts.data === undefined ||
      (seesRollouts && rollouts.data === undefined) ||
      (seesLetters && letters.data === undefined),
    error: alerts.error ?? rollouts.error ?? letters.error,
  }
}
