import sprite from 'virtual:sprite'
import type { IconName } from '../../build/icons.ts'

/** Decoration only: the text beside it, or the label of its button, says what it means. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" aria-hidden="true">
      <use href={`${sprite}#${name}`} />
    </svg>
  )
}
