import { useState } from 'preact/hooks'
import { logIn } from '../../data/session.ts'
import { useWrite } from '../../data/writes.ts'
import { Button } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { words } from '../../words/words.ts'

const t = words({
  email: ['E-mail', 'E-Mail'],
  password: ['Password', 'Passwort'],
  remember: ['Stay logged in on this device', 'Auf diesem Gerät angemeldet bleiben'],
  login: ['Log in', 'Anmelden'],
})

export function LoginForm({ onDone }: { readonly onDone: () => void }) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [remember, setRemember] = useState(false)
  const write = useWrite(async () => {
    await logIn({ email, password, remember })
    onDone()
  })
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void write.run()
      }}
    >
      <Field
        label={t('email')}
        type="email"
        name="email"
        autocomplete="username"
        required
        value={email}
        onValue={setEmail}
      />
      <Field
        label={t('password')}
        type="password"
        name="password"
        autocomplete="current-password"
        required
        value={password}
        onValue={setPassword}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={remember}
          onChange={({ currentTarget }) => setRemember(currentTarget.checked)}
        />
        {t('remember')}
      </label>
      {write.error.value !== undefined && <ProblemCard error={write.error.value} />}
      <Button kind="primary" type="submit" isBusy={write.isUnderWay.value}>
        {t('login')}
      </Button>
    </form>
  )
}
