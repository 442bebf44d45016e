// How a person wants the page to look. The service keeps it for the account, and this browser too, so that a page looks right
// before anybody has logged in. Secrets are never among it. What another version wrote stays as it is.
import { computed, effect, signal } from '@preact/signals'
import type { JsonObject } from '../../../../schemas/json.ts'
import { LIMITS } from '../limits.ts'
import { isTimeZone, timeZone as shownTimeZone } from '../words/time.ts'
import { LANGUAGES, language as shownLanguage } from '../words/words.ts'
import { fleet } from './client.ts'
import { user } from './session.ts'

export const THEMES = ['system', 'light', 'dark'] as const
export const DENSITIES = ['compact', 'regular'] as const

export interface Preferences {
  readonly theme: (typeof THEMES)[number]
  readonly density: (typeof DENSITIES)[number]
  readonly language: (typeof LANGUAGES)[number]
  readonly singleKeys: boolean
  /** Empty: the one of the browser. */
  readonly timeZone: string
  /** The columns of the list of devices, as its address writes them; empty: those of the page. */
  readonly deviceColumns: string
  /** How many of them stay in sight when the others scroll sideways. */
  readonly devicePins: number
}

type StoredPreferences = JsonObject

const KEY = 'fleet-preferences'
const COLUMNS_CHARS_MAX = 2000

const kept = signal<StoredPreferences>(keptHere())
export const preferences = computed(() => checked(kept.value))
/** Why the service did not take the last change; it counts in this browser all the same. */
export const preferencesError = signal<unknown>(undefined)

/** What was chosen and is not on its way to the service yet. */
let unsaved: StoredPreferences = {}
/** What is on its way. */
let sent: StoredPreferences = {}
let isSaving = false
let account: string | undefined

export function setPreference<Name extends keyof Preferences>(name: Name, value: Preferences[Name]): void {
  keep({ ...kept.peek(), [name]: value })
  unsaved = { ...unsaved, [name]: value }
  void savePreferences()
}

/** Keeps the page as the preferences say, and these as the account of the person has them. */
export function followPreferences(): void {
  effect(() => {
    const { theme, density, language, timeZone } = preferences.value
    const { dataset } = document.documentElement
    dataset['theme'] = theme
    dataset['density'] = density
    shownLanguage.value = language
    shownTimeZone.value = timeZone === '' ? undefined : timeZone
    document.documentElement.lang = language === 'de' ? 'de' : 'en'
  })
  effect(() => {
    const id = user.value?.id
    if (id === undefined || id === account) return
    account = id
    void load()
  })
  addEventListener('storage', ({ key }) => {
    // Another tab of this browser changed them.
    if (key === KEY) kept.value = keptHere()
  })
}

async function load(): Promise<void> {
  try {
    const found = await fleet.getPreferences()
    // What was chosen while the answer was under way is newer.
    keep({ ...kept.peek(), ...found, ...sent, ...unsaved })
  } catch (error) {
    preferencesError.value = error
  }
}

/** One write at a time; what is chosen meanwhile goes with the next. */
export async function savePreferences(): Promise<void> {
  if (user.peek() == null || isSaving) return
  isSaving = true
  try {
    while (Object.keys(unsaved).length > 0) {
      sent = unsaved
      unsaved = {}
      // Another browser may have changed others of them since.
      await fleet.putPreferences({ body: { ...(await fleet.getPreferences()), ...sent } })
    }
    preferencesError.value = undefined
  } catch (error) {
    unsaved = { ...sent, ...unsaved }
    preferencesError.value = error
  } finally {
    sent = {}
    isSaving = false
  }
}

function keep(next: StoredPreferences): void {
  kept.value = next
  try {
    localStorage.setItem(KEY, JSON.stringify(next))
  } catch {
    // Storage may be switched off: then they last as long as the page.
  }
}

function keptHere(): StoredPreferences {
  try {
    return { ...JSON.parse(localStorage.getItem(KEY) ?? '{}') }
  } catch {
    // What another version or a person wrote there counts as nothing.
    return {}
  }
}

function checked(found: StoredPreferences): Preferences {
  const byBrowser = navigator.language.startsWith('de') ? 'de' : 'en'
  const { timeZone, deviceColumns, devicePins } = found
  return {
    theme: THEMES.find((name) => name === found['theme']) ?? 'system',
    density: DENSITIES.find((name) => name === found['density']) ?? 'regular',
    language: LANGUAGES.find((name) => name === found['language']) ?? byBrowser,
    singleKeys: found['singleKeys'] !== false,
    timeZone: typeof timeZone === 'string' && isTimeZone(timeZone) ? timeZone : '',
    deviceColumns:
      typeof deviceColumns === 'string' && deviceColumns.length <= COLUMNS_CHARS_MAX ? deviceColumns : '',
    devicePins:
      typeof devicePins === 'number' && devicePins > 0
        ? Math.min(Math.floor(devicePins), LIMITS.pinnedColumnsMax)
        : 0,
  }
}
