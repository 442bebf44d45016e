import { isSessionOver } from '../../data/session.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { words } from '../../words/words.ts'
import { LoginForm } from './login-form.tsx'

const t = words({
  title: ['Your session has ended', 'Ihre Sitzung ist zu Ende'],
  stays: [
    'Log in again. What you were writing is still here.',
    'Melden Sie sich wieder an. Was Sie geschrieben haben, bleibt da.',
  ],
})

/** Over the page, so that nothing on it is lost. Closing it leaves the page as it was, without news. */
export function LoginDialog() {
  return (
    <Dialog
      title={t('title')}
      onClose={() => {
        isSessionOver.value = false
      }}
    >
      <p>{t('stays')}</p>
      <LoginForm onDone={() => undefined} />
    </Dialog>
  )
}
