// The person at the page: profile, appearance, logins, and the way out.

import { logOut, user } from '../../data/session.ts'
import { Button } from '../../parts/button.tsx'
import { Facts } from '../../parts/facts.tsx'
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
          <Facts
            rows={[
              [t('name'), me?.name],
              [t('email'), me?.email],
              [t('role'), me?.role],
              [t('groups'), me == null || me.groups.length === 0 ? t('wholeFleet') : me.groups.join(', ')],
            ]}
          />
        </section>
        <Appearance />
        <Password />
        <Sessions />
      </div>
    </Page>
  )
}
