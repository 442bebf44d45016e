// The person at the page: profile, language, theme, keys, and the way out.

import { preferences, setPreference, THEMES } from '../../data/preferences.ts'
import { logOut, user } from '../../data/session.ts'
import { Button } from '../../parts/button.tsx'
import { Page } from '../../parts/page.tsx'
import { words } from '../../words/words.ts'
import { Password } from './password.tsx'
import { Sessions } from './sessions.tsx'

const t = words({
  title: ['Profile and settings', 'Profil und Einstellungen'],
  role: ['Role', 'Rolle'],
  groups: ['Groups', 'Gruppen'],
  whole: ['the whole fleet', 'die ganze Flotte'],
  look: ['Appearance', 'Darstellung'],
  theme: ['Theme', 'Farben'],
  system: ['as the system', 'wie das System'],
  light: ['light', 'hell'],
  dark: ['dark', 'dunkel'],
  density: ['Rows', 'Zeilen'],
  compact: ['compact', 'eng'],
  regular: ['regular', 'normal'],
  language: ['Language', 'Sprache'],
  keys: ['Single keys as shortcuts', 'Einzelne Tasten als Kürzel'],
  logout: ['Log out', 'Abmelden'],
})

export default function Me() {
  const me = user.value
  const { theme, density, language, singleKeys } = preferences.value
  return (
    <Page
      title={t('title')}
      actions={
        <Button icon="log-out" onClick={() => void logOut()}>
          {t('logout')}
        </Button>
      }
    >
      <section class="card">
        <dl class="facts">
          <dt>{me?.name}</dt>
          <dd>{me?.email}</dd>
          <dt>{t('role')}</dt>
          <dd>{me?.role}</dd>
          <dt>{t('groups')}</dt>
          <dd>{me == null || me.groups.length === 0 ? t('whole') : me.groups.join(', ')}</dd>
        </dl>
      </section>
      <section class="card">
        <h2>{t('look')}</h2>
        <div class="form">
          <label class="field">
            {t('theme')}
            <select
              value={theme}
              onChange={({ currentTarget }) => setPreference('theme', currentTarget.value)}
            >
              {THEMES.map((name) => (
                <option key={name} value={name}>
                  {t(name)}
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            {t('density')}
            <select
              value={density}
              onChange={({ currentTarget }) => setPreference('density', currentTarget.value)}
            >
              <option value="compact">{t('compact')}</option>
              <option value="regular">{t('regular')}</option>
            </select>
          </label>
          <label class="field">
            {t('language')}
            <select
              value={language}
              onChange={({ currentTarget }) => setPreference('language', currentTarget.value)}
            >
              <option value="en">English</option>
              <option value="de">Deutsch</option>
            </select>
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={singleKeys}
              onChange={({ currentTarget }) => setPreference('singleKeys', currentTarget.checked)}
            />
            {t('keys')}
          </label>
        </div>
      </section>
      <Password />
      <Sessions />
    </Page>
  )
}
