// The states that every part of a page has which shows an answer of the service: nothing for 150 ms, then its outline,
// then the data, which stays while it is asked for again and when that fails (D11).
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { RefusalError } from '../../../../schemas/client/errors.ts'
import type { Asked } from '../data/answers.ts'
import { user } from '../data/session.ts'
import { words } from '../words/words.ts'
import { Empty } from './empty.tsx'
import { ProblemCard } from './problem-card.tsx'

const t = words({
  loading: ['Loading', 'Wird geladen'],
  updating: ['updating', 'wird erneuert'],
  forbidden: [
    'Your role is {role}; this needs another one.',
    'Ihre Rolle ist {role}; hierfür braucht es eine andere.',
  ],
  ask: ['An admin of this service can give it to you.', 'Ein Admin dieses Dienstes kann sie Ihnen geben.'],
})

export function AnswerArea<Data>({
  answer,
  children,
}: {
  readonly answer: Asked<Data>
  readonly children: (data: Data) => ComponentChildren
}) {
  const { data, error, isLoading, reload } = answer
  if (data === undefined && error === undefined) return <Skeleton />
  if (error instanceof RefusalError && error.status === 403)
    return (
      <Empty title={t('forbidden', { role: user.value?.role ?? '' })}>
        <p>{t('ask')}</p>
      </Empty>
    )
  return (
    <div class={isLoading && error === undefined ? 'updating' : undefined}>
      {error !== undefined && <ProblemCard error={error} onRetry={reload} />}
      {data !== undefined && children(data)}
      {isLoading && data !== undefined && <span class="visually-hidden">{t('updating')}</span>}
    </div>
  )
}

const HELD_BACK_MS = 150

/** The outline of what will be there. It comes late, so that a quick answer does not flicker. */
export function Skeleton({ rows = 5 }: { readonly rows?: number }) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), HELD_BACK_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div class="skeleton" aria-busy="true" aria-label={t('loading')} role="status">
      {isShown && Array.from({ length: rows }, (_, row) => <div key={row} class="skeleton-row" />)}
    </div>
  )
}
