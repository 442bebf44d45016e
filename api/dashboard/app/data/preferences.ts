// How a person wants the page to look. It is kept in this browser; secrets never are.
import { effect, signal } from '@preact/signals'
import { LANGUAGES, language as shownLanguage } from '../words/words.ts'

export const THEMES = ['system', 'light', 'dark'] as const
const DENSITIES = ['compact', 'regular'] as const

export interface Preferences {
  readonly theme: (typeof THEMES)[number]
  readonly density: (typeof DENSITIES)[number]
  readonly language: (typeof LANGUAGES)[number]
  readonly singleKeys: boolean
}

const KEY = 'fleet-preferences'
export const preferences = signal<Preferences>(read())

export function setPreference(name: keyof Preferences, value: string | boolean): void {
  preferences.value = checked({ ...preferences.peek(), [name]: value })
  try {
    localStorage.setItem(KEY, JSON.stringify(preferences.peek()))
  } catch {
    // Storage may be switched off: then they last as long as the page.
  }
}

/** Keeps the page as the preferences say. */
export function followPreferences(): void {
  effect(() => {
    const { theme, density, language } = preferences.value
    const { dataset } = document.documentElement
    dataset['theme'] = theme
    dataset['density'] = density
    shownLanguage.value = language
    document.documentElement.lang = language === 'de' ? 'de' : 'en'
  })
}

function read(): Preferences {
  try {
    return checked(JSON.parse(localStorage.getItem(KEY) ?? '{}'))
  } catch {
    // What another version or a person wrote there counts as nothing.
    return checked({})
  }
}

function checked(found: Readonly<Record<string, unknown>>): Preferences {
  const byBrowser = navigator.language.startsWith('de') ? 'de' : 'en'
  return {
    theme: THEMES.find((name) => name === found['theme']) ?? 'system',
    density: DENSITIES.find((name) => name === found['density']) ?? 'regular',
    language: LANGUAGES.find((name) => name === found['language']) ?? byBrowser,
    singleKeys: found['singleKeys'] !== false,
  }
}
