import { number, words } from '../../words/words.ts'
import type { Deployment } from './progress-bar.tsx'
import { failureShare } from './rollout-health.ts'

const t = words({
  none: ['none finished yet', 'noch keines ist fertig'],
  share: [
    '{percent} of {n} finished; the limit is {limit}',
    '{percent} von {n} fertigen; die Grenze ist {limit}',
  ],
})

/** The share of failures against the bound at which the rollout ends by itself. */
export function FailureText({
  of: { kind, progress, abort },
}: {
  readonly of: Pick<Deployment, 'kind' | 'progress' | 'abort'>
}) {
  const { percent, finishedCount, limitPercent, isOver } = failureShare(kind, progress, abort)
  if (percent === undefined) return <span class="muted">{t('none')}</span>
  const share = (value: number) => number(value / 100, { style: 'percent', maximumFractionDigits: 0 })
  return (
    <span class={isOver ? 'severity-critical' : percent > 0 ? 'severity-warning' : undefined}>
      {isOver && '✕ '}
      {t('share', { percent: share(percent), n: finishedCount, limit: share(limitPercent) })}
    </span>
  )
}
