// The page for who is not logged in: a login, or the first account of a new service.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { pathOf } from '../../address/routes.ts'
import { LoginRefusal, logIn } from '../../data/session.ts'
import { address, navigate } from '../../navigation/navigation.ts'
import { words } from '../../words/words.ts'
import { LoginForm } from './login-form.tsx'

const t = words({
  login: ['Log in', 'Anmelden'],
  setup: ['The first account', 'Das erste Konto'],
  ticket: [
    'This login link works once, for a few minutes, and has expired. Log in with your password.',
    'Diese Anmeldeadresse gilt einmal und für wenige Minuten; sie ist abgelaufen. Melden Sie sich mit dem Passwort an.',
  ],
  toSetup: ['New service: create the first account', 'Dieser Dienst ist neu: erstes Konto anlegen'],
  toLogin: ['Already have an account? Log in', 'Es gibt schon ein Konto: anmelden'],
})

const isTicketSpent = signal(false)

export default function Login() {
  const isSetup = address.value.path === pathOf('setup')
  useEffect(() => {
    document.title = `${isSetup ? t('setup') : t('login')} · Fleet`
  }, [isSetup])
  useEffect(() => void redeemTicket(), [])
  return (
    <main class="login">
      <h1>Fleet</h1>
      <h2>{isSetup ? t('setup') : t('login')}</h2>
      {isTicketSpent.value && <p role="alert">{t('ticket')}</p>}
      <LoginForm key={String(isSetup)} isFirst={isSetup} onDone={goOn} />
      <p>
        {isSetup ? (
          <a href={pathOf('login')}>{t('toLogin')}</a>
        ) : (
          <a href={pathOf('setup')}>{t('toSetup')}</a>
        )}
      </p>
    </main>
  )
}

/** Where the person wanted to go before. */
function goOn(): void {
  const { path } = address.peek()
  if (path === pathOf('login') || path === pathOf('setup')) navigate('/', { replace: true })
}

/** The start of a new service prints an address that logs in once. Its ticket is in the fragment, which no server sees. */
async function redeemTicket(): Promise<void> {
  const ticket = new URLSearchParams(location.hash.slice(1)).get('ticket')
  if (ticket === null) return
  history.replaceState(null, '', `${location.pathname}${location.search}`)
  try {
    await logIn({ ticket })
    goOn()
  } catch (error) {
    if (error instanceof LoginRefusal) isTicketSpent.value = true
    else throw error
  }
}
