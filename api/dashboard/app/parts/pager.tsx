import { whole } from '../address/codecs.ts'
import { queryValue } from '../navigation/navigation.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'

const t = words({
  pages: ['Pages', 'Seiten'],
  at: ['Page {page} of {pages}, {n} in all', 'Seite {page} von {pages}, {n} insgesamt'],
  before: ['Previous page', 'Vorige Seite'],
  after: ['Next page', 'Nächste Seite'],
})

/** The page of a list is part of its address. */
export const pageValue = queryValue('page', whole(1, 1, 100_000))

export interface PageOf {
  readonly page: number
  readonly total: number
  readonly total_pages: number
}

export function Pager({ of: { page, total, total_pages: pages } }: { readonly of: PageOf }) {
  if (pages <= 1) return null
  const to = (next: number) => pageValue.set(next, { replace: false })
  return (
    <nav class="row pager" aria-label={t('pages')}>
      <Button icon="chevron-left" label={t('before')} isBusy={page <= 1} onClick={() => to(page - 1)} />
      <span>{t('at', { page, pages, n: total })}</span>
      <Button icon="chevron-right" label={t('after')} isBusy={page >= pages} onClick={() => to(page + 1)} />
    </nav>
  )
}
