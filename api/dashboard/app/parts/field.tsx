// One field of a form: its label, its hint, and what is wrong with it. The service's own refusal of a field lands here by
// its pointer.
import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { RefusalError } from '../../../../schemas/client/errors.ts'

/** Attributes of the input itself that forms need. */
export interface InputAttributes {
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'url' | 'datetime-local' | 'time'
  readonly name?: string
  readonly autocomplete?: string
  readonly required?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly min?: number | string
  readonly max?: number | string
  readonly step?: number | string
  readonly placeholder?: string
  readonly pattern?: string
  readonly spellcheck?: boolean
}

export interface FieldProps extends InputAttributes {
  readonly label: string
  readonly hint?: string
  /** Offered while one types. */
  readonly suggestions?: readonly string[]
  readonly value: string
  readonly onValue: (value: string) => void
  /** The refusal of the form that it belongs to, and where the field is in the body. */
  readonly error?: unknown
  readonly pointer?: string
}

export function Field(props: FieldProps) {
  const { label, hint, suggestions = [], value, onValue, error, pointer, ...attributes } = props
  const id = useId()
  const hasList = suggestions.length > 0
  // The types of JSX have one shape for each kind of input, and this is any of them.
  const input = { ...attributes, list: hasList ? `${id}-list` : undefined } as JSX.IntrinsicElements['input']
  const wrong = pointer === undefined ? undefined : fieldError(error, pointer)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...input}
        id={id}
        value={value}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
        aria-describedby={hint === undefined && wrong === undefined ? undefined : `${id}-more`}
        aria-invalid={wrong === undefined ? undefined : 'true'}
      />
      {hasList && (
        <datalist id={`${id}-list`}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      {(hint !== undefined || wrong !== undefined) && (
        <span id={`${id}-more`} class={wrong === undefined ? 'hint' : 'field-error'}>
          {wrong ?? hint}
        </span>
      )}
    </div>
  )
}

/** What the service says about the field at this JSON pointer. */
export function fieldError(error: unknown, pointer: string): string | undefined {
  if (!(error instanceof RefusalError)) return undefined
  return error.problem.errors?.find(({ path }) => path === pointer)?.message
}
