import { useState } from 'preact/hooks'
import { fleet } from '../../data/client.ts'
import { logIn, user } from '../../data/session.ts'
import { useWrite } from '../../data/writes.ts'
import { boundFields } from '../../parts/bound-fields.ts'
import { Button } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { submits } from '../../parts/submits.ts'
import { toast } from '../../parts/toasts.tsx'
import { words } from '../../words/words.ts'

const t = words({
  intro: [
    'Changing the password ends all other logins.',
    'Ein neues Passwort beendet jede Anmeldung; diese Seite meldet sich selbst wieder an.',
  ],
  present: ['Current password', 'Jetziges Passwort'],
  next: ['New password', 'Neues Passwort'],
  change: ['Change password', 'Passwort ändern'],
  done: ['Password changed.', 'Das Passwort ist geändert.'],
})

const EMPTY = { present: '', next: '' }

export function Password() {
  const [draft, setDraft] = useState(EMPTY)
  const email = user.value?.email ?? ''
  const write = useWrite(async () => {
    await fleet.editMe({ body: { current_password: draft.present, password: draft.next } })
    await logIn({ email, password: draft.next, remember: false })
    setDraft(EMPTY)
    toast({ text: t('done') })
  })
  const error = write.error.value
  const field = boundFields(draft, (changes) => setDraft({ ...draft, ...changes }), error)
  return (
    <section class="card">
      <h2>{t('password')}</h2>
      <p class="muted">{t('intro')}</p>
      <form class="form" onSubmit={submits(() => write.run())}>
        <Field
          label={t('present')}
          type="password"
          autocomplete="current-password"
          required
          {...field('present', '/current_password')}
        />
        <Field
          label={t('next')}
          type="password"
          autocomplete="new-password"
          required
          minLength={8}
          {...field('next', '/password')}
        />
        <ProblemCard error={error} />
        <Button type="submit" write={write}>
          {t('change')}
        </Button>
      </form>
    </section>
  )
}
