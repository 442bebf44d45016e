import { words } from '../words/words.ts'
import { plainText } from './plain-text.ts'

const TYPES = {
  group: ['group {which}', 'Gruppe {which}'],
  tag: ['tag {which}', 'Tag {which}'],
  type: ['type {which}', 'Typ {which}'],
  device: ['device {which}', 'Gerät {which}'],
} as const

const t = words({
  ...TYPES,
  every: ['all devices', 'alle Geräte'],
  some: ['{n} device | {n} devices', '{n} Gerät | {n} Geräte'],
  unset: ['not chosen', 'nichts gewählt'],
})

/** The devices that a command, a rollout or a rule is about, in words. */
export function targetText({ type, value }: { readonly type: string; readonly value?: unknown }): string {
  if (type === 'all' || type === 'fleet') return t('every')
  if (Array.isArray(value)) return t('some', { n: value.length })
  if (value === undefined || value === '') return t('unset')
  // A query names a value for each of its fields.
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([name, which]) => said(name, which))
      .join(', ')
  return said(type, value)
}

function said(type: string, value: unknown): string {
  const which = plainText(typeof value === 'object' ? [value].flat().join(', ') : String(value))
  return Object.hasOwn(TYPES, type) ? t(type as keyof typeof TYPES, { which }) : `${type}: ${which}`
}
