// The field of a value: a box for true and false, a number for a number, JSON for everything that is no plain text.

import { useEffect, useState } from 'preact/hooks'
import { type Json, parseJson } from '../../../../../../schemas/json.ts'
import { plainText } from '../../../parts/plain-text.ts'
import { words } from '../../../words/words.ts'

const t = words({
  wrong: ['Not valid JSON. Text needs quotes.', 'Das ist kein JSON. Text braucht Anführungszeichen.'],
})

export interface LeafEditorProps {
  readonly label: string
  readonly value: Json | undefined
  /** Undefined only shows it. */
  readonly onValue: ((value: Json) => void) | undefined
}

export function LeafEditor({ label, value, onValue }: LeafEditorProps) {
  const [text, setText] = useState(textOf(value))
  const [isWrong, setWrong] = useState(false)
  useEffect(() => setText(textOf(value)), [JSON.stringify(value)])
  if (onValue === undefined)
    return value === undefined ? (
      <span class="muted">–</span>
    ) : (
      <code>{plainText(JSON.stringify(value))}</code>
    )
  if (typeof value === 'boolean')
    return (
      <input
        type="checkbox"
        aria-label={label}
        checked={value}
        onChange={({ currentTarget }) => onValue(currentTarget.checked)}
      />
    )
  const take = () => {
    if (text === textOf(value)) return
    const next = typedValue(text, value)
    setWrong(next === undefined)
    if (next !== undefined) onValue(next)
  }
  return (
    <span class="leaf-editor">
      <input
        type="text"
        class="input mono"
        spellcheck={false}
        autocomplete="off"
        inputMode={typeof value === 'number' ? 'decimal' : undefined}
        aria-label={label}
        aria-invalid={isWrong ? 'true' : undefined}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            // It may stand in a form, which is not to be sent by that.
            event.preventDefault()
            take()
          }
          if (event.key === 'Escape') setText(textOf(value))
        }}
      />
      {isWrong && <span class="field-error">{t('wrong')}</span>}
    </span>
  )
}

/** A text is shown without its quotes where the leaf is a text already. */
const textOf = (value: Json | undefined): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)

export function typedValue(text: string, before: Json | undefined): Json | undefined {
  return typeof before === 'string' ? text : parseJson(text)
}
