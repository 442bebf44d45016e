// A filter by some of a few words: chips that are pressed or not.
import type { QueryValue } from '../navigation/navigation.ts'

export interface ChoiceChipsProps<Word extends string> {
  readonly label: string
  readonly options: readonly (readonly [word: Word, name: string])[]
  readonly value: QueryValue<readonly string[]>
}

export function ChoiceChips<Word extends string>({ label, options, value }: ChoiceChipsProps<Word>) {
  const chosen = value.value
  return (
    <fieldset class="chips">
      <legend class="visually-hidden">{label}</legend>
      {options.map(([word, name]) => {
        const isOn = chosen.includes(word)
        return (
          <button
            key={word}
            type="button"
            class="chip chip-choice"
            aria-pressed={isOn}
            onClick={() => value.set(isOn ? chosen.filter((other) => other !== word) : [...chosen, word])}
          >
            {name}
          </button>
        )
      })}
    </fieldset>
  )
}
