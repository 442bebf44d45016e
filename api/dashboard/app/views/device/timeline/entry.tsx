import { MARKER_GLYPHS } from '../../../charts/marker.ts'
import { entryDetail, entryText, type TimelineEntry } from '../../../parts/entry-text.ts'
import { exactInstant, instant } from '../../../words/time.ts'

export function Entry({ entry }: { readonly entry: TimelineEntry }) {
  const at = Date.parse(entry.timestamp)
  const detail = entryDetail(entry)
  return (
    <li class={`entry entry-${entry.kind}`}>
      <span aria-hidden="true">{MARKER_GLYPHS[entry.kind]}</span>
      <time class="muted nowrap" dateTime={exactInstant(at)} title={exactInstant(at)}>
        {instant(at)}
      </time>
      <span>{entryText(entry)}</span>
      {detail !== undefined && <span class="muted">{detail}</span>}
    </li>
  )
}
