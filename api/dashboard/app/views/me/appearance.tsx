// How the page looks for this person. Each choice counts at once, and in every browser of the account.
import {
  DENSITIES,
  preferences,
  preferencesError,
  savePreferences,
  setPreference,
  THEMES,
} from '../../data/preferences.ts'
import { CheckField } from '../../parts/check-field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { words } from '../../words/words.ts'

const t = words({
  look: ['Appearance', 'Darstellung'],
  hint: ['Saved with your account, for all browsers.', 'Für Ihr Konto gespeichert, in allen Browsern.'],
  theme: ['Theme', 'Farben'],
  system: ['same as system', 'wie das System'],
  light: ['light', 'hell'],
  dark: ['dark', 'dunkel'],
  density: ['Rows', 'Zeilen'],
  compact: ['compact', 'eng'],
  regular: ['regular', 'normal'],
  language: ['Language', 'Sprache'],
  local: ['browser time zone ({zone})', 'dieses Browsers ({zone})'],
  keys: ['Single-key shortcuts', 'Einzelne Tasten als Kürzel'],
})

export function Appearance() {
  const { theme, density, language, singleKeys, timeZone } = preferences.value
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  const zones = [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])]
  return (
    <section class="card">
      <h2>{t('look')}</h2>
      <p class="hint">{t('hint')}</p>
      {preferencesError.value !== undefined && (
        <ProblemCard error={preferencesError.value} onRetry={() => void savePreferences()} />
      )}
      <div class="form">
        <SelectField
          label={t('theme')}
          value={theme}
          options={THEMES.map((name) => [name, t(name)] as const)}
          onValue={(name) => setPreference('theme', name)}
        />
        <SelectField
          label={t('density')}
          value={density}
          options={DENSITIES.map((name) => [name, t(name)] as const)}
          onValue={(name) => setPreference('density', name)}
        />
        <SelectField
          label={t('language')}
          value={language}
          options={[
            ['en', 'English'],
            ['de', 'Deutsch'],
          ]}
          onValue={(name) => setPreference('language', name)}
        />
        <SelectField
          label={t('timeZone')}
          value={timeZone}
          options={[['', t('local', { zone: own })], ...zones.map((name) => [name, name] as const)]}
          onValue={(name) => setPreference('timeZone', name)}
        />
        <CheckField
          label={t('keys')}
          isOn={singleKeys}
          onValue={(isOn) => setPreference('singleKeys', isOn)}
        />
      </div>
    </section>
  )
}
