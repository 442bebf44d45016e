// JSON as text: what is wrong with it is said where it is, and how much of the room is used.

import { useId } from 'preact/hooks'
import { errorText } from '../../../../schemas/error-text.ts'
import { words } from '../words/words.ts'

const t = words({
  wrong: ['This is not JSON: {reason}', 'Das ist kein JSON: {reason}'],
  used: ['{n} of {max} bytes', '{n} von {max} Byte'],
})

export interface JsonFieldProps {
  readonly label: string
  readonly text: string
  readonly onText: (text: string) => void
  readonly bytesMax?: number
  readonly rows?: number
  readonly error?: string | undefined
}

/** Undefined if the text is no JSON. */
export function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    // The field itself says what is wrong.
    return undefined
  }
}

export function JsonField({ label, text, onText, bytesMax, rows = 10, error }: JsonFieldProps) {
  const id = useId()
  const wrong = error ?? reasonOf(text)
  const bytes = new TextEncoder().encode(text).length
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class="mono"
        rows={rows}
        spellcheck={false}
        value={text}
        aria-invalid={wrong === undefined ? undefined : 'true'}
        aria-describedby={`${id}-more`}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      <span id={`${id}-more`} class={wrong === undefined ? 'hint' : 'field-error'}>
        {wrong ?? (bytesMax === undefined ? '' : t('used', { n: bytes, max: bytesMax }))}
      </span>
    </div>
  )
}

function reasonOf(text: string): string | undefined {
  if (text.trim() === '') return undefined
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return t('wrong', { reason: errorText(error) })
  }
}
