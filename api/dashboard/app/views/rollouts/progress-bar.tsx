// How far a deployment is, as devices reported it.
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { StackedBar } from '../../parts/stacked-bar.tsx'
import { words } from '../../words/words.ts'

const t = words({
  in_progress: ['under way', 'unterwegs'],
})

export type Deployment = ReplyOf<Operations['getDeployment']>

export function ProgressBar({
  of: { kind, progress },
}: {
  readonly of: Pick<Deployment, 'kind' | 'progress'>
}) {
  return (
    <StackedBar
      label={t('progress')}
      shares={[
        { name: t('succeeded'), count: progress.succeeded, tone: 'good' },
        { name: t('in_progress'), count: progress.in_progress, tone: 'busy' },
        { name: t('failed'), count: progress.failed, tone: 'bad' },
        { name: t('rolled_back'), count: progress.rolled_back, tone: kind === 'rollback' ? 'good' : 'warn' },
        { name: t('waiting'), count: progress.pending, tone: 'rest' },
        { name: t('skipped'), count: progress.skipped, tone: 'rest' },
        { name: t('cancelled'), count: progress.cancelled, tone: 'rest' },
      ]}
    />
  )
}
