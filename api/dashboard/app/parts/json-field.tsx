// JSON as text, with the numbers of its lines: what is wrong with it is said with its place, and how much of the room is used.

import { useId, useRef } from 'preact/hooks'
import { errorText } from '../../../../schemas/error-text.ts'
import { parseJson } from '../../../../schemas/json.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'

const t = words({
  wrong: ['Not valid JSON: {reason}', 'Das ist kein JSON: {reason}'],
  format: ['Format', 'Formatieren'],
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

export function JsonField({ label, text, onText, bytesMax, rows = 10, error }: JsonFieldProps) {
  const id = useId()
  const wrong = error ?? reasonOf(text)
  const bytes = new TextEncoder().encode(text).length
  const numbers = useRef<HTMLPreElement>(null)
  const value = parseJson(text)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="json-text">
        <pre ref={numbers} class="json-numbers" aria-hidden="true">
          {numbersOf(text)}
        </pre>
        <textarea
          id={id}
          class="mono"
          rows={rows}
          // A line that were broken would have two lines beside one number.
          wrap="off"
          spellcheck={false}
          value={text}
          aria-invalid={wrong === undefined ? undefined : 'true'}
          aria-describedby={`${id}-more`}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
          onScroll={({ currentTarget }) => {
            if (numbers.current !== null) numbers.current.scrollTop = currentTarget.scrollTop
          }}
        />
      </div>
      <div class="row">
        <span id={`${id}-more`} class={wrong === undefined ? 'hint' : 'field-error'}>
          {wrong ?? (bytesMax === undefined ? '' : t('used', { n: bytes, max: bytesMax }))}
        </span>
        <Button
          kind="quiet"
          disabledBecause={value === undefined ? wrong : undefined}
          onClick={() => value !== undefined && onText(JSON.stringify(value, null, 2))}
        >
          {t('format')}
        </Button>
      </div>
    </div>
  )
}

const numbersOf = (text: string) =>
  text
    .split('\n')
    .map((_, line) => line + 1)
    .join('\n')

function reasonOf(text: string): string | undefined {
  if (text.trim() === '') return undefined
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return t('wrong', { reason: errorText(error) })
  }
}
