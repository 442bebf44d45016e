// Some of a few words: chips that are pressed or not.
import type { QueryValue } from '../navigation/navigation.ts'

export interface ChoiceChipsProps<Word extends string> {
  readonly label: string
  readonly options: readonly (readonly [word: Word, name: string])[]
  readonly value: Pick<QueryValue<readonly Word[]>, 'value' | 'set'>
  /** The label is seen, as that of a field. */
  readonly isField?: boolean
}

export function ChoiceChips<Word extends string>(props: ChoiceChipsProps<Word>) {
  const { label, options, value, isField = false } = props
  const chosen = value.value
  return (
    <fieldset class="chips">
      <legend class={isField ? undefined : 'visually-hidden'}>{label}</legend>
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
