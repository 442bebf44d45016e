// The form of who is not logged in: a login, or the first account of a new service.

import { useState } from 'preact/hooks'
import { fleet } from '../../data/client.ts'
import { logIn } from '../../data/session.ts'
import { useWrite } from '../../data/writes.ts'
import { boundFields } from '../../parts/bound-fields.ts'
import { Button } from '../../parts/button.tsx'
import { CheckField } from '../../parts/check-field.tsx'
import { Field } from '../../parts/field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { submits } from '../../parts/submits.ts'
import { words } from '../../words/words.ts'

const t = words({
  name: ['Your name', 'Ihr Name'],
  hint: [
    'At least 8 characters, and not a common password.',
    'Mindestens 8 Zeichen und keines der häufigen.',
  ],
  remember: ['Stay logged in on this device', 'Auf diesem Gerät angemeldet bleiben'],
  login: ['Log in', 'Anmelden'],
  create: ['Create account', 'Konto anlegen'],
})

export interface LoginFormProps {
  /** Makes an account before the login. The first one of a service is its admin; the service refuses any further one. */
  readonly isFirst?: boolean
  readonly onDone: () => void
}

export function LoginForm({ isFirst = false, onDone }: LoginFormProps) {
  const [draft, setDraft] = useState({ name: '', email: '', password: '' })
  const [remember, setRemember] = useState(false)
  const write = useWrite(async () => {
    if (isFirst) await fleet.register({ body: { ...draft, role: 'admin' } })
    await logIn({ email: draft.email, password: draft.password, remember })
    onDone()
  })
  const error = write.error.value
  const field = boundFields(draft, (changes) => setDraft({ ...draft, ...changes }), error)
  return (
    <form class="form" onSubmit={submits(() => write.run())}>
      {isFirst && <Field label={t('name')} name="name" autocomplete="name" required {...field('name')} />}
      <Field
        label={t('email')}
        type="email"
        name="email"
        autocomplete="username"
        required
        {...field('email')}
      />
      <Field
        label={t('password')}
        type="password"
        name="password"
        autocomplete={isFirst ? 'new-password' : 'current-password'}
        required
        {...(isFirst ? { minLength: 8, hint: t('hint') } : {})}
        {...field('password')}
      />
      {!isFirst && <CheckField label={t('remember')} isOn={remember} onValue={setRemember} />}
      <ProblemCard error={error} />
      <Button kind="primary" type="submit" isBusy={write.isUnderWay.value}>
        {t(isFirst ? 'create' : 'login')}
      </Button>
    </form>
  )
}
