// The states that every part of a page has which shows an answer of the service: nothing for 150 ms, then its outline,
// then the data, which stays while it is asked for again and when that fails (D11).
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { may } from '../data/access.ts'
import type { LiveAnswer } from '../data/answers.ts'
import { words } from '../words/words.ts'
import { ProblemCard } from './problem-card.tsx'
import { RoleNeeded } from './role-needed.tsx'

const t = words({
  loading: ['Loading', 'Wird geladen'],
  updating: ['updating', 'wird erneuert'],
})

export function AnswerArea<Data>({
  answer,
  children,
}: {
  readonly answer: LiveAnswer<Data>
  readonly children: (data: Data) => ComponentChildren
}) {
  const { data, error, isLoading, operation, reload } = answer
  if (!may(operation)) return <RoleNeeded operation={operation} />
  if (data === undefined && error === undefined) return <Skeleton />
  return (
    <div class={isLoading && error === undefined ? 'updating' : undefined}>
      {error !== undefined && <ProblemCard isQuiet error={error} onRetry={reload} />}
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
