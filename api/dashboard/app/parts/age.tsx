import { ago, exactInstant } from '../words/time.ts'

/** How long ago something was; it counts on by itself. The exact time is in the tooltip. */
export function Age({ at }: { readonly at: string | number | null | undefined }) {
  if (at === null || at === undefined) return <span class="muted">–</span>
  const ms = typeof at === 'number' ? at : Date.parse(at)
  if (Number.isNaN(ms)) return <span class="muted">–</span>
  return (
    <time class="age" dateTime={exactInstant(ms)} title={exactInstant(ms)}>
      {ago(ms)}
    </time>
  )
}
