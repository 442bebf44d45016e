// The person at the page: profile, appearance, logins, and the way out.

import { logOut, user } from '../../data/session.ts'
import { Button } from '../../parts/button.tsx'
import { Page } from '../../parts/page.tsx'
import { words } from '../../words/words.ts'
import { Appearance } from './appearance.tsx'
import { Password } from './password.tsx'
import { Sessions } from './sessions.tsx'

const t = words({
  title: ['Profile and settings', 'Profil und Einstellungen'],
  logout: ['Log out', 'Abmelden'],
})

export default function Me() {
  const me = user.value
  return (
    <Page
      title={t('title')}
      actions={
        <Button icon="log-out" onClick={() => void logOut()}>
          {t('logout')}
        </Button>
      }
    >
      <div class="stack">
        <section class="card">
          <dl class="facts">
            <dt>{me?.name}</dt>
            <dd>{me?.email}</dd>
            <dt>{t('role')}</dt>
            <dd>{me?.role}</dd>
            <dt>{t('groups')}</dt>
            <dd>{me == null || me.groups.length === 0 ? t('wholeFleet') : me.groups.join(', ')}</dd>
          </dl>
        </section>
        <Appearance />
        <Password />
        <Sessions />
      </div>
    </Page>
  )
}
