import { useState } from 'preact/hooks'
import { fleet } from '../../data/client.ts'
import { logIn } from '../../data/session.ts'
import { useWrite } from '../../data/writes.ts'
import { Button } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { words } from '../../words/words.ts'

const t = words({
  name: ['Your name', 'Ihr Name'],
  email: ['E-mail', 'E-Mail'],
  password: ['Password', 'Passwort'],
  hint: [
    'At least 8 characters, and not one of the common ones.',
    'Mindestens 8 Zeichen und keines der häufigen.',
  ],
  create: ['Create the account', 'Konto anlegen'],
})

/** The first account of a service is its admin. The service itself refuses any further one from here. */
export function SetupForm({ onDone }: { readonly onDone: () => void }) {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const write = useWrite(async () => {
    await fleet.register({ body: { name, email, password, role: 'admin' } })
    await logIn({ email, password, remember: false })
    onDone()
  })
  const error = write.error.value
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void write.run()
      }}
    >
      <Field
        label={t('name')}
        name="name"
        autocomplete="name"
        required
        value={name}
        onValue={setName}
        error={error}
        pointer="/name"
      />
      <Field
        label={t('email')}
        type="email"
        name="email"
        autocomplete="username"
        required
        value={email}
        onValue={setEmail}
        error={error}
        pointer="/email"
      />
      <Field
        label={t('password')}
        type="password"
        name="password"
        autocomplete="new-password"
        required
        minLength={8}
        hint={t('hint')}
        value={password}
        onValue={setPassword}
        error={error}
        pointer="/password"
      />
      {error !== undefined && <ProblemCard error={error} />}
      <Button kind="primary" type="submit" isBusy={write.isUnderWay.value}>
        {t('create')}
      </Button>
    </form>
  )
}
