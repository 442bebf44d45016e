// A text that counts once it is left or Enter is pressed.
import { useId, useState } from 'preact/hooks'

export interface TextValueProps {
  readonly label: string
  readonly value: string
  readonly placeholder?: string
  readonly onValue: (typed: string) => void
}

export function TextValue({ label, value, placeholder, onValue }: TextValueProps) {
  const id = useId()
  // A page that is drawn anew while somebody types must not take the text from them.
  const [typed, setTyped] = useState<string>()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        value={typed ?? value}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onChange={({ currentTarget }) => {
          setTyped(undefined)
          onValue(currentTarget.value)
        }}
        onBlur={() => setTyped(undefined)}
      />
    </div>
  )
}
