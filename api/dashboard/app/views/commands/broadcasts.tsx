// Commands that went to many devices at once, the newest first.
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { pathOf } from '../../address/routes.ts'
import { useAnswer } from '../../data/answers.ts'
import { useLiveAnswers } from '../../live/live-answers.ts'
import { navigate } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { AreaTabs } from '../../parts/area-tabs.tsx'
import { Button } from '../../parts/button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { StackedBar } from '../../parts/stacked-bar.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { targetText } from '../../parts/target-text.ts'
import { number, words } from '../../words/words.ts'
import { sharesOf } from './command-shares.ts'

const t = words({
  title: ['Broadcasts', 'Befehle an viele'],
  total: ['Total', 'Gesamt'],
  empty: ['No broadcasts yet', 'Noch ging kein Befehl an viele Geräte'],
  emptyMore: [
    'Choose a group or a tag, preview the recipients, and send.',
    'Gruppe oder Tag wählen, ansehen, wen es erreicht, und senden.',
  ],
})

type Broadcast = ReplyOf<Operations['listBroadcasts']>['data'][number]

export default function Broadcasts() {
  const answer = useAnswer('listBroadcasts', { query: { page: pageValue.value } })
  useLiveAnswers({ channel: 'commands' }, ['listBroadcasts'])
  const columns: readonly Column<Broadcast>[] = [
    {
      name: t('command'),
      cell: ({ broadcast_id, command }) => (
        <a href={pathOf('broadcast', { broadcast_id })}>{plainText(command)}</a>
      ),
    },
    { name: t('devices'), cell: ({ target }) => targetText(target) },
    { name: t('total'), isNumber: true, cell: ({ total }) => number(total) },
    { name: t('status'), cell: ({ status }) => stateWord(status) },
    { name: t('result'), cell: ({ counts }) => <StackedBar label={t('result')} shares={sharesOf(counts)} /> },
    { name: t('sent'), cell: ({ created_at }) => <Age at={created_at} /> },
  ]
  return (
    <Page
      title={t('title')}
      needs="listBroadcasts"
      actions={
        <Button kind="primary" icon="send" onClick={() => navigate(pathOf('compose'))}>
          {t('newBroadcast')}
        </Button>
      }
    >
      <AreaTabs of="commands" />
      <AnswerTable
        answer={answer}
        empty={<Empty title={t('empty')} hint={t('emptyMore')} />}
        caption={t('title')}
        columns={columns}
        idOf={({ broadcast_id }) => broadcast_id}
      />
    </Page>
  )
}
