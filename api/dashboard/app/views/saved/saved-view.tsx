// The address of a saved view: it goes on to the address that was saved, and leaves no entry in the history.
import { useEffect } from 'preact/hooks'
import { pathOf, placeOf } from '../../address/routes.ts'
import { useAnswer } from '../../data/answers.ts'
import { navigate } from '../../navigation/navigation.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { words } from '../../words/words.ts'

const t = words({
  lost: ['{name} leads to {path}, which does not exist.', '{name} führt zu {path}, und dort ist nichts.'],
  back: ['Go to the overview', 'Zur Übersicht'],
})

export default function SavedView({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const answer = useAnswer('getView', { view_id: params['view_id'] ?? '' })
  const view = answer.data
  // Another version of the page, or another program, may have saved an address that is none of this page.
  const isKnown = view !== undefined && placeOf(view.path) !== undefined
  useEffect(() => {
    if (view !== undefined && isKnown)
      navigate(`${view.path}${view.query === '' ? '' : `?${view.query}`}`, { replace: true })
  }, [view])
  return (
    <Page title={t('savedView')}>
      <AnswerArea answer={answer}>
        {({ name, path }) =>
          !isKnown && (
            <Empty title={t('lost', { name: plainText(name), path: plainText(path) })}>
              <a href={pathOf('overview')}>{t('back')}</a>
            </Empty>
          )
        }
      </AnswerArea>
    </Page>
  )
}
