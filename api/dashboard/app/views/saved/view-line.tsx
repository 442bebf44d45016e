import { useState } from 'preact/hooks'
import { pathOf } from '../../address/routes.ts'
import { refreshAnswers } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import type { SavedView } from '../../data/saved-views.ts'
import { user } from '../../data/session.ts'
import { useWrite } from '../../data/writes.ts'
import { Button } from '../../parts/button.tsx'
import { copyLink } from '../../parts/clipboard.ts'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import { Field } from '../../parts/field.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { submits } from '../../parts/submits.ts'
import { toast } from '../../parts/toasts.tsx'
import { presentAddress } from './present-address.ts'
import { t } from './view-words.ts'

interface ViewLineProps {
  readonly view: SavedView
  readonly isOwn: boolean
  /** Called when the view is opened. */
  readonly onGo: () => void
}

type Change = Parameters<typeof fleet.editView>[0]['body']

export function ViewLine({ view, isOwn, onGo }: ViewLineProps) {
  const { view_id, path, query, shared, etag } = view
  const name = plainText(view.name)
  const [renamed, setRenamed] = useState<string | undefined>(undefined)
  const href = pathOf('savedView', { view_id })
  const write = useWrite(async (body: Change) => {
    await fleet.editView({ view_id, body, ifMatch: etag.replaceAll('"', '') })
    refreshAnswers('listViews', 'getView')
    setRenamed(undefined)
  })
  const replace = async () => {
    if (await write.run(presentAddress())) toast({ text: t('replaced', { name }) })
  }
  return (
    <li>
      <div class="row">
        <a class="view-name" href={href} onClick={onGo}>
          {name}
        </a>
        {shared && <span class="muted">{t('shared')}</span>}
        <Button kind="quiet" icon="link" label={t('copy', { name })} onClick={() => void copyLink(href)} />
        {isOwn && (
          <>
            <Button
              kind="quiet"
              icon="pencil"
              label={t('rename', { name })}
              onClick={() => setRenamed(view.name)}
            />
            <Button kind="quiet" icon="save" label={t('replace', { name })} onClick={() => void replace()} />
            <Button
              kind="quiet"
              icon={shared ? 'lock' : 'users'}
              label={t(shared ? 'toOwn' : 'toShared', { name })}
              onClick={() => void write.run({ shared: !shared })}
            />
          </>
        )}
        {(isOwn || user.value?.role === 'admin') && (
          <ConfirmButton
            kind="quiet"
            icon="trash-2"
            label={t('remove', { name })}
            title={t('remove', { name })}
            action={t('removeDo')}
            onConfirm={async () => {
              await fleet.deleteView({ view_id })
              refreshAnswers('listViews', 'getView')
            }}
          >
            <p>{t('removeText')}</p>
          </ConfirmButton>
        )}
      </div>
      <code class="table-more">{plainText(query === '' ? path : `${path}?${query}`)}</code>
      {renamed !== undefined && (
        <form class="row" onSubmit={submits(() => write.run({ name: renamed.trim() }))}>
          <Field label={t('newName')} value={renamed} onValue={setRenamed} maxLength={100} required />
          <Button type="submit" kind="primary" write={write}>
            {t('rename2')}
          </Button>
          <Button onClick={() => setRenamed(undefined)}>{t('cancel')}</Button>
        </form>
      )}
      <ProblemCard error={write.error.value} />
    </li>
  )
}
