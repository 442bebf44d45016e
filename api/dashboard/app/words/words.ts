// The texts of the page. Each area keeps its own table, with both languages side by side, so that none can be forgotten, and
// knows the shared words, too; plural forms follow the rules of the language.
import { signal } from '@preact/signals'
import { SHARED_WORDS } from './shared-words.ts'

export const LANGUAGES = ['en', 'de', 'pseudo'] as const
export type Language = (typeof LANGUAGES)[number]

/** Texts in which `{name}` is replaced. `{n} device | {n} devices` has the forms for one and for every other number `n`. */
type Pair = readonly [english: string, german: string]
export type Fields = Readonly<Record<string, string | number>>

export const language = signal<Language>('en')
/** The locale of numbers and times. */
export const locale = () => (language.value === 'de' ? 'de-DE' : 'en-GB')

const PLURALS = { en: new Intl.PluralRules('en'), de: new Intl.PluralRules('de') }

/** Makes the function that gives the texts of one table. Called in a component, it renders anew when the language changes. */
export function words<Key extends string>(table: Readonly<Record<Key, Pair>>) {
  const all: Readonly<Record<Key | keyof typeof SHARED_WORDS, Pair>> = { ...SHARED_WORDS, ...table }
  return (key: keyof typeof all, fields: Fields = {}): string => {
    const chosen = language.value
    const [one = '', other] = all[key][chosen === 'de' ? 1 : 0].split(' | ')
    const text = other === undefined || isOne(fields['n']) ? one : other
    const filled = text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
      const value = fields[name]
      return typeof value === 'number' ? number(value) : (value ?? whole)
    })
    return chosen === 'pseudo' ? stretched(filled) : filled
  }
}

/** Three digits behind the point, or as many as a smaller number needs to be told from 0. */
const PRECISION = {
  maximumFractionDigits: 3,
  maximumSignificantDigits: 3,
  roundingPriority: 'morePrecision',
} as const

export function number(value: number, options: Intl.NumberFormatOptions = {}): string {
  const isAskedFor = 'maximumFractionDigits' in options || 'maximumSignificantDigits' in options
  return new Intl.NumberFormat(locale(), { ...(isAskedFor ? {} : PRECISION), ...options }).format(value)
}

function isOne(n: string | number | undefined): boolean {
  return PLURALS[language.value === 'de' ? 'de' : 'en'].select(Number(n ?? 0)) === 'one'
}

/** 40 % longer and marked at both ends: a text that is cut off or was never translated shows. */
function stretched(text: string): string {
  const longer = text.replaceAll(/[aeiou]/g, (letter) => `${letter}${letter}`)
  return `[${longer}]`
}
