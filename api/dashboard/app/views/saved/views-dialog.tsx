// Saved views: the present address under a name, for oneself or for everybody. A view is an address and grants nothing.
import { useMemo, useState } from 'preact/hooks'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { ALL_VIEWS } from '../../data/saved-views.ts'
import { user } from '../../data/session.ts'
import { newIdempotencyKey, useWrite } from '../../data/writes.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { CheckField } from '../../parts/check-field.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { submits } from '../../parts/submits.ts'
import { presentAddress } from './present-address.ts'
import { ViewLine } from './view-line.tsx'
import { t } from './view-words.ts'

export default function ViewsDialog({ onClose }: { readonly onClose: () => void }) {
  const answer = useAnswer('listViews', ALL_VIEWS)
  const me = user.value?.id
  return (
    <Dialog title={t('savedViews')} onClose={onClose}>
      <SaveForm />
      <AnswerArea answer={answer}>
        {({ data, total }) => {
          const own = data.filter(({ owner }) => owner === me)
          const others = data.filter(({ owner }) => owner !== me)
          return (
            <>
              <h3>{t('yours')}</h3>
              {own.length === 0 && <p class="muted">{t('none')}</p>}
              <ul class="stack">
                {own.map((view) => (
                  <ViewLine key={view.view_id} view={view} isOwn onGo={onClose} />
                ))}
              </ul>
              {others.length > 0 && <h3>{t('others')}</h3>}
              <ul class="stack">
                {others.map((view) => (
                  <ViewLine key={view.view_id} view={view} isOwn={false} onGo={onClose} />
                ))}
              </ul>
              {total > data.length && <p class="hint">{t('some', { n: data.length, total })}</p>}
            </>
          )
        }}
      </AnswerArea>
    </Dialog>
  )
}

function SaveForm() {
  const [name, setName] = useState('')
  const [shared, setShared] = useState(false)
  // Another draft is another request; the same one sent again is the same. Once it is saved, the name is another.
  const idempotencyKey = useMemo(newIdempotencyKey, [name, shared])
  const write = useWrite(async () => {
    await fleet.createView({ body: { name: name.trim(), shared, ...presentAddress() }, idempotencyKey })
    setName('')
    refreshAnswers('listViews')
  })
  return (
    <form class="stack" onSubmit={submits(() => write.run())}>
      <div class="row">
        <Field
          label={t('name')}
          value={name}
          onValue={setName}
          error={write.error.value}
          pointer="/name"
          maxLength={100}
          required
          autocomplete="off"
        />
        <CheckField label={t('share')} isOn={shared} onValue={setShared} />
        <Button kind="primary" type="submit" icon="save" write={write}>
          {t('save')}
        </Button>
      </div>
      <p class="hint">{t('hint')}</p>
      <ProblemCard error={write.error.value} />
    </form>
  )
}
