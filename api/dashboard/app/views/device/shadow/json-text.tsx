import type { Json } from '../../../../../../schemas/json.ts'
import { plainText } from '../../../parts/plain-text.ts'
import { words } from '../../../words/words.ts'

const t = words({ none: ['not there', 'nicht da'] })

/** A value as JSON; the absence of one is said. */
export function JsonText({ value }: { readonly value: Json | undefined }) {
  return value === undefined ? (
    <em class="muted">{t('none')}</em>
  ) : (
    <code>{plainText(JSON.stringify(value))}</code>
  )
}
