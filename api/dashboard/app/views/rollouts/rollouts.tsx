// Deployments of firmware, the newest first.

import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { DEPLOYMENT_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { words as wordList } from '../../address/codecs.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { useAnswer } from '../../data/answers.ts'
import { useLiveAnswers } from '../../live/live-answers.ts'
import { navigate, queryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { AreaTabs } from '../../parts/area-tabs.tsx'
import { Button } from '../../parts/button.tsx'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { NoneFits } from '../../parts/filter-chips.tsx'
import { Page } from '../../parts/page.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { personText } from '../../parts/person-text.ts'
import { plainText } from '../../parts/plain-text.ts'
import { targetText } from '../../parts/target-text.ts'
import { words } from '../../words/words.ts'
import { FailureText } from './failure-text.tsx'
import { ProgressBar } from './progress-bar.tsx'
import { deploymentStatusWord } from './rollout-words.ts'

const t = words({
  by: ['by {who}', 'von {who}'],
  started: ['Created', 'Angelegt'],
  empty: ['No rollouts yet', 'Noch wurde keine Firmware ausgerollt'],
  emptyMore: [
    'Upload an image first, then deploy it to a few devices and to the rest.',
    'Laden Sie zuerst ein Abbild hoch; dann geht es an wenige Geräte und danach an den Rest.',
  ],
  images: ['Open images', 'Zu den Abbildern'],
  none: ['No rollout has one of these statuses', 'Kein Rollout hat einen dieser Status'],
})

type Row = ReplyOf<Operations['listDeployments']>['data'][number]
const statusValue = queryValue('status', wordList())

export default function Rollouts() {
  const status = statusValue.value
  const answer = useAnswer('listDeployments', {
    query: { page: pageValue.value, ...(status.length === 0 ? {} : { status: status.join(',') }) },
  })
  useLiveAnswers({ channel: 'ota' }, ['listDeployments'])
  const columns: readonly Column<Row>[] = [
    {
      name: t('version'),
      cell: ({ deployment_id, firmware_version, name, kind }) => (
        <>
          <a href={pathOf('rollout', { deployment_id })}>{plainText(name ?? firmware_version)}</a>
          {(kind === 'rollback' || name !== null) && (
            <span class="table-more">{kind === 'rollback' ? `↩ ${firmware_version}` : firmware_version}</span>
          )}
        </>
      ),
    },
    {
      name: t('status'),
      cell: (row) => (
        <>
          {deploymentStatusWord(row.status)}
          {row.status_reason !== null && <span class="table-more">{plainText(row.status_reason)}</span>}
        </>
      ),
    },
    { name: t('devices'), cell: ({ target }) => targetText(target) },
    { name: t('strategy'), cell: ({ strategy }) => strategy },
    { name: t('progress'), cell: (row) => <ProgressBar of={row} /> },
    { name: t('failures'), cell: (row) => <FailureText of={row} /> },
    {
      name: t('started'),
      cell: ({ created_at, created_by }) => (
        <>
          <Age at={created_at} />
          <span class="table-more">{t('by', { who: personText(created_by) })}</span>
        </>
      ),
    },
  ]
  return (
    <Page
      title={t('rollouts')}
      needs="listDeployments"
      actions={
        may('createDeployment') && (
          <Button kind="primary" icon="rocket" onClick={() => navigate(pathOf('newRollout'))}>
            {t('newRollout')}
          </Button>
        )
      }
    >
      <AreaTabs of="rollouts" />
      <div class="filters">
        <ChoiceChips
          label={t('status')}
          options={DEPLOYMENT_STATUSES.map((word) => [word, deploymentStatusWord(word)] as const)}
          value={statusValue}
        />
      </div>
      <AnswerTable
        answer={answer}
        empty={
          status.length > 0 ? (
            <NoneFits title={t('none')} names={['status']} />
          ) : (
            <Empty title={t('empty')}>
              <p>{t('emptyMore')}</p>
              <a href={pathOf('firmware')}>{t('images')}</a>
            </Empty>
          )
        }
        caption={t('rollouts')}
        columns={columns}
        idOf={({ deployment_id }) => deployment_id}
      />
    </Page>
  )
}
