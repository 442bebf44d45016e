import { useId } from 'preact/hooks'

export interface SelectFieldProps<Word extends string> {
  readonly label: string
  readonly options: readonly (readonly [word: Word, name: string])[]
  readonly value: Word
  readonly onValue: (word: Word) => void
}

export function SelectField<Word extends string>({ label, options, value, onValue }: SelectFieldProps<Word>) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => {
          const found = options.find(([word]) => word === currentTarget.value)
          if (found !== undefined) onValue(found[0])
        }}
      >
        {options.map(([word, name]) => (
          <option key={word} value={word}>
            {name}
          </option>
        ))}
      </select>
    </div>
  )
}
