// The field of one parameter of a command, by its type.
import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { words } from '../words/words.ts'
import type { CommandParameter } from './command-draft.ts'

const t = words({
  notSet: ['not set', 'nicht gesetzt'],
  yes: ['true', 'true'],
  no: ['false', 'false'],
  required: ['{name} (required)', '{name} (nötig)'],
  range: ['{min} to {max}', '{min} bis {max}'],
  least: ['at least {min}', 'mindestens {min}'],
  most: ['at most {max}', 'höchstens {max}'],
})

export interface ParameterFieldProps {
  readonly parameter: CommandParameter
  readonly text: string
  readonly onText: (text: string) => void
  readonly wrong?: string | undefined
}

export function ParameterField({ parameter, text, onText, wrong }: ParameterFieldProps) {
  const id = useId()
  const { name, type, required } = parameter
  const hint = hintOf(parameter)
  const shared = {
    id,
    'aria-invalid': wrong === undefined ? undefined : ('true' as const),
    'aria-describedby': wrong === undefined && hint === '' ? undefined : `${id}-more`,
  }
  const input = {
    type: type === 'string' ? 'text' : 'number',
    step: type === 'integer' ? 1 : 'any',
    min: parameter.min,
    max: parameter.max,
    // The types of JSX have one shape for each kind of input, and this is either.
  } as JSX.IntrinsicElements['input']
  return (
    <div class="field">
      <label for={id}>{required ? t('required', { name }) : name}</label>
      {type === 'boolean' ? (
        <select {...shared} value={text} onChange={({ currentTarget }) => onText(currentTarget.value)}>
          <option value="">{t('notSet')}</option>
          <option value="true">{t('yes')}</option>
          <option value="false">{t('no')}</option>
        </select>
      ) : type === 'array' || type === 'object' ? (
        <textarea
          {...shared}
          class="mono"
          rows={4}
          spellcheck={false}
          value={text}
          placeholder={type === 'array' ? '[]' : '{}'}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      ) : (
        <input
          {...input}
          {...shared}
          value={text}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      )}
      {(wrong !== undefined || hint !== '') && (
        <span id={`${id}-more`} class={wrong === undefined ? 'hint' : 'field-error'}>
          {wrong ?? hint}
        </span>
      )}
    </div>
  )
}

function hintOf({ description, type, min, max }: CommandParameter): string {
  const bounds =
    min !== undefined && max !== undefined
      ? t('range', { min, max })
      : min !== undefined
        ? t('least', { min })
        : max !== undefined
          ? t('most', { max })
          : undefined
  return [description, type, bounds].filter((part) => part !== undefined).join(' · ')
}
