import { words } from '../words/words.ts'
import { Empty } from './empty.tsx'
import { Page } from './page.tsx'
import { plainText } from './plain-text.ts'

const t = words({
  lost: ['Page not found', 'An dieser Adresse ist nichts'],
  nothingAt: ['There is no page at {path}.', 'Unter {path} gibt es keine Seite.'],
  back: ['Go to the overview', 'Zur Übersicht'],
})

/** What an address shows at which no view lives. */
export function PageNotFound() {
  return (
    <Page title={t('lost')}>
      <Empty title={t('nothingAt', { path: plainText(location.pathname) })}>
        <a href="/">{t('back')}</a>
      </Empty>
    </Page>
  )
}
