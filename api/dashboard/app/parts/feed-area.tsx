import type { ComponentChildren } from 'preact'
import type { Feed } from '../data/feed.ts'
import { words } from '../words/words.ts'
import { Skeleton } from './answer-area.tsx'
import { Button } from './button.tsx'
import { ProblemCard } from './problem-card.tsx'

const t = words({
  more: ['Load earlier entries', 'Frühere Einträge laden'],
  end: ['No earlier entries.', 'Das ist der Anfang.'],
})

interface FeedAreaProps<Entry> {
  readonly feed: Feed<Entry>
  readonly empty: ComponentChildren
  readonly children: (entries: readonly Entry[]) => ComponentChildren
}

/** The states of a list that is read on by its cursor. */
export function FeedArea<Entry>({ feed, empty, children }: FeedAreaProps<Entry>) {
  const { entries, cursor, error, isLoading, more, reload } = feed
  const isEmpty = entries.length === 0
  if (isEmpty && isLoading) return <Skeleton />
  return (
    <>
      {!isEmpty && children(entries)}
      {error !== undefined && <ProblemCard isQuiet error={error} onRetry={isEmpty ? reload : more} />}
      {isEmpty && error === undefined && cursor === null && empty}
      {cursor === null && !isEmpty && <p class="muted pager">{t('end')}</p>}
      {cursor != null && error === undefined && (
        <p class="pager">
          <Button isBusy={isLoading} onClick={more}>
            {t('more')}
          </Button>
        </p>
      )}
    </>
  )
}
