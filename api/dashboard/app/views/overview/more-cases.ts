// What needs a person beside the devices themselves, as cases: alerts by their rule, rollouts that wait or went wrong, messages
// that could not be processed, commands that failed, errors by their issue, and a service that lacks what it depends on.
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { pathOf } from '../../address/routes.ts'
import { plainText } from '../../parts/plain-text.ts'
import { number } from '../../words/words.ts'
import { t } from './overview-words.ts'

export interface ShownCase {
  readonly key: string
  /** What it is now: a hidden case comes back when this changes. */
  readonly state: string
  readonly severity: 'critical' | 'warning' | 'info'
  readonly sentence: string
  readonly firstId?: string
  /** Devices of a group went away at once. */
  readonly isLost?: boolean
  readonly at?: number
  readonly href: string
  readonly remedy?: Remedy
}

/** The one thing that can be done about a case at once. */
export type Remedy =
  | { readonly kind: 'ack'; readonly alertIds: readonly string[] }
  | { readonly kind: 'pause'; readonly deploymentId: string }
  | { readonly kind: 'replay'; readonly reason: string }

type Alerts = ReplyOf<Operations['listAlerts']>
type Deployment = ReplyOf<Operations['listDeployments']>['data'][number]
type Commands = ReplyOf<Operations['listFleetCommands']>['data']
type Devices = ReplyOf<Operations['listDevices']>['data']
type Readiness = ReplyOf<Operations['readyz']>
type Reason = ReplyOf<Operations['summarizeDeadLetters']>['data'][number]

/** What counts as a failure of a command. */
export const FAILED_STATUSES = 'failed,rejected,expired'

/** One case for each rule, worst first; what did not fit the page of alerts is a case of its own. */
export function alertCases({ data, total }: Pick<Alerts, 'data' | 'total'>): readonly ShownCase[] {
  const byRule = new Map<string, Alerts['data']>()
  for (const alert of data) byRule.set(alert.rule_id, [...(byRule.get(alert.rule_id) ?? []), alert])
  const cases = [...byRule].map(([rule, alerts]): ShownCase => {
    const oldest = alerts.reduce((a, b) => (Date.parse(a.started_at) <= Date.parse(b.started_at) ? a : b))
    return {
      key: `rule ${rule}`,
      state: String(alerts.length),
      severity: alerts.some(({ severity }) => severity === 'critical') ? 'critical' : 'warning',
      sentence: t('rule', { name: plainText(oldest.rule_name), n: alerts.length }),
      ...(oldest.device_id === null ? {} : { firstId: oldest.device_id }),
      at: Date.parse(oldest.started_at),
      href: pathOf('alerts', {}, { rule }),
      remedy: { kind: 'ack', alertIds: alerts.flatMap(({ alert_id }) => alert_id ?? []) },
    }
  })
  const missing = total - data.length
  const more: ShownCase = {
    key: 'rules',
    state: String(missing),
    severity: 'warning',
    sentence: t('moreAlerts', { n: missing }),
    href: pathOf('alerts'),
  }
  return missing > 0 ? [...cases, more] : cases
}

/** How long a rollout that went wrong asks for attention. */
const OVER_FOR_MS = 24 * 3_600_000

export function rolloutCases(deployments: readonly Deployment[], nowMs: number): readonly ShownCase[] {
  return deployments.flatMap((row): readonly ShownCase[] => {
    const { deployment_id, status, progress, finished_at, firmware_version, name } = row
    const shown = (severity: ShownCase['severity'], sentence: string, at: string | null): ShownCase => ({
      key: `rollout ${deployment_id}`,
      state: `${status} ${progress.failed}`,
      severity,
      sentence,
      ...(at === null ? {} : { at: Date.parse(at) }),
      href: pathOf('rollout', { deployment_id }),
    })
    const title = plainText(name ?? firmware_version)
    if (status === 'paused') return [shown('warning', t('rolloutPaused', { name: title }), row.started_at)]
    if (status === 'failed' || status === 'aborted') {
      const isRecent = finished_at === null || nowMs - Date.parse(finished_at) < OVER_FOR_MS
      return isRecent ? [shown('critical', t('rolloutFailed', { name: title }), finished_at)] : []
    }
    if (status !== 'in_progress') return []
    const share = number(progress.total === 0 ? 0 : progress.succeeded / progress.total, {
      style: 'percent',
      maximumFractionDigits: 0,
    })
    const running = shown('info', t('rolloutRuns', { name: title, share }), row.started_at)
    return [{ ...running, remedy: { kind: 'pause', deploymentId: deployment_id } }]
  })
}

export function letterCases(reasons: readonly Reason[]): readonly ShownCase[] {
  return reasons.map(({ reason, count, newest_at }) => ({
    key: `letters ${reason}`,
    state: String(count),
    severity: 'warning',
    sentence: t('letters', { n: count, reason }),
    at: Date.parse(newest_at),
    href: pathOf('systemTab', { tab: 'dead-letters' }, { reason }),
    remedy: { kind: 'replay', reason },
  }))
}

/** One case for each command that failed, the most failures first; those that were not read are told by their number. */
export function commandCases(failedCount: number, commands: Commands): readonly ShownCase[] {
  const counts = countsOf(commands.map(({ command }) => command))
  const cases = counts.map(
    ([command, n]): ShownCase => ({
      key: `command ${command}`,
      state: String(n),
      severity: 'warning',
      sentence: t('failedCommand', { n, command: plainText(command) }),
      href: pathOf('commands', {}, { status: FAILED_STATUSES, command }),
    }),
  )
  const missing = failedCount - commands.length
  if (missing <= 0) return cases
  const more: ShownCase = {
    key: 'commands',
    state: String(missing),
    severity: 'warning',
    sentence: t('failedCommands', { n: missing }),
    href: pathOf('commands', {}, { status: FAILED_STATUSES }),
  }
  return [...cases, more]
}

/** One case for each issue that devices with an error report first, the most devices first. */
export function issueCases(devices: Devices, total: number): readonly ShownCase[] {
  const href = pathOf('devices', {}, { q: 'status:error' })
  const said = devices.flatMap(({ issues: [issue] }) => (issue === undefined ? [] : [issue]))
  const cases = countsOf(said).map(
    ([issue, n]): ShownCase => ({
      key: `issue ${issue}`,
      state: String(n),
      severity: 'critical',
      sentence: t('issue', { n, issue: plainText(issue) }),
      href,
    }),
  )
  const others = total - said.length
  if (others <= 0) return cases
  const error = t('error', { n: others })
  return [...cases, { key: 'error ', state: String(others), severity: 'critical', sentence: error, href }]
}

/** What the service depends on and does not work. */
export function serviceCases(readiness: Readiness): readonly ShownCase[] {
  if (readiness.status !== 'degraded') return []
  const broken = (readiness.dependencies ?? []).filter(({ ok }) => !ok).map(({ name }) => name)
  return [
    {
      key: 'service',
      state: broken.join(),
      severity: 'critical',
      sentence: t('degraded', { parts: broken.join(', ') }),
      href: pathOf('system'),
    },
  ]
}

/** How often each word is there, the most frequent first. */
function countsOf(words: readonly string[]): readonly (readonly [word: string, count: number])[] {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a)
}

const RANK = { critical: 0, warning: 1, info: 2 } as const

/** Worst first; equal ones stay in their order. */
export const worstFirst = (cases: readonly ShownCase[]): readonly ShownCase[] =>
  [...cases].sort((a, b) => RANK[a.severity] - RANK[b.severity])
