// The marks of the charts in words, with a button that leads close to each: what a picture cannot say to everyone.
import { useState } from 'preact/hooks'
import { fixedRange, type Span } from '../../address/time-range.ts'
import { MARKER_GLYPHS } from '../../charts/marker.ts'
import { Button } from '../../parts/button.tsx'
import { timeRange } from '../../parts/range-bar.tsx'
import { exactInstant, instant } from '../../words/time.ts'
import { words } from '../../words/words.ts'
import type { FoundMarkers } from './use-markers.ts'

const t = words({
  title: [
    '{n} event in this range | {n} events in this range',
    '{n} Ereignis in diesem Zeitraum | {n} Ereignisse in diesem Zeitraum',
  ],
  most: [
    'Showing the newest {n}; choose a shorter range to see others.',
    'Das sind die neuesten {n}; ein kürzerer Zeitraum zeigt die anderen.',
  ],
  near: ['Zoom to {text}', 'Hinzoomen: {text}'],
})

/** The part of the range that is shown around a mark. */
const NEAR = 1 / 10

export function MarkerList({ markers, span }: { readonly markers: FoundMarkers; readonly span: Span }) {
  const [isOpen, setOpen] = useState(false)
  const inRange = markers.list.filter(({ at }) => at >= span.fromMs && at <= span.toMs)
  if (inRange.length === 0) return null
  const reach = ((span.toMs - span.fromMs) * NEAR) / 2
  return (
    <details
      class="card marker-list"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{t('title', { n: inRange.length })}</summary>
      {isOpen && (
        <>
          {markers.isCut && <p class="hint">{t('most', { n: markers.list.length })}</p>}
          <ol class="plain-list timeline">
            {inRange.map(({ at, kind, text }) => (
              <li key={`${at} ${text}`} class={`entry entry-${kind}`}>
                <span aria-hidden="true">{MARKER_GLYPHS[kind]}</span>
                <time class="muted nowrap" dateTime={exactInstant(at)} title={exactInstant(at)}>
                  {instant(at)}
                </time>
                <span>{text}</span>
                <Button
                  kind="quiet"
                  icon="zoom-in"
                  label={t('near', { text })}
                  onClick={() => timeRange.set(fixedRange(at - reach, at + reach))}
                />
              </li>
            ))}
          </ol>
        </>
      )}
    </details>
  )
}
