// Shares of a whole as one bar, with the same in words beside it: never by colour alone (D8).
import { number } from '../words/words.ts'

export interface Share {
  readonly name: string
  readonly count: number
  /** One of the colour names of the tokens. */
  readonly tone: 'good' | 'bad' | 'warn' | 'busy' | 'rest'
}

export function StackedBar({ label, shares }: { readonly label: string; readonly shares: readonly Share[] }) {
  const shown = shares.filter(({ count }) => count > 0)
  const total = shown.reduce((sum, { count }) => sum + count, 0)
  return (
    <div class="stacked">
      <div class="stacked-bar" role="img" aria-label={`${label}: ${shown.map(wordsOf).join(', ')}`}>
        {shown.map(({ name, count, tone }) => (
          <span
            key={name}
            class={`tone-${tone}`}
            style={{ inlineSize: `${(100 * count) / total}%` }}
            title={`${name} ${count}`}
          />
        ))}
      </div>
      <ul class="stacked-legend" aria-hidden="true">
        {shown.map(({ name, count, tone }) => (
          <li key={name}>
            <span class={`stacked-dot tone-${tone}`} /> {name} {number(count)}
          </li>
        ))}
      </ul>
    </div>
  )
}

const wordsOf = ({ name, count }: Share) => `${number(count)} ${name}`
