// The time range of the page's charts: presets that move with the clock, or two instants; buttons do what dragging does.
import { useState } from 'preact/hooks'
import { text } from '../address/codecs.ts'
import {
  fixedRange,
  moved,
  PRESETS,
  presetMs,
  readRange,
  type Span,
  scaled,
  spanOf,
  type TimeRange,
  writeRange,
} from '../address/time-range.ts'
import { isPaused } from '../live/live.ts'
import { queryValue, setQuery } from '../navigation/navigation.ts'
import { localMs, localText } from '../words/local-time.ts'
import { instant, now } from '../words/time.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { useShortcuts } from './shortcuts.ts'

const t = words({
  '15m': ['15 min', '15 min'],
  '1h': ['1 h', '1 h'],
  '24h': ['24 h', '24 h'],
  '7d': ['7 days', '7 Tage'],
  '30d': ['30 days', '30 Tage'],
  custom: ['Custom…', 'Eigener…'],
  show: ['Show', 'Anzeigen'],
  wrong: ['The end must be after the start.', 'Das Ende muss nach dem Anfang liegen.'],
  earlier: ['Earlier', 'Früher'],
  later: ['Later', 'Später'],
  fixed: ['{from} – {to}', '{from} – {to}'],
})

const from = queryValue('from', text('', 40))
const to = queryValue('to', text('', 40))

export const timeRange = {
  get value(): TimeRange {
    return readRange(from.value, to.value)
  },
  /** Zooming makes an entry in the history, so that Back zooms out again. */
  set(range: TimeRange): void {
    setQuery(writeRange(range), { replace: false })
  },
}

let heldAt = 0

/** What the charts show now. A live range moves in steps that can be seen, and not while the page is paused. */
export function useSpan(): Span {
  const range = timeRange.value
  if (range.kind === 'fixed') return range
  const step = Math.max(1000, range.spanMs / 1000)
  if (!isPaused.value || heldAt === 0) heldAt = Math.ceil(now.value / step) * step
  return spanOf(range, heldAt)
}

export function RangeBar() {
  const [isOpen, setOpen] = useState(false)
  const range = timeRange.value
  const span = spanOf(range, now.value)
  useShortcuts([{ keys: 't', label: t('timeRange'), run: () => setOpen(true) }])
  return (
    <div class="range-bar">
      <fieldset class="chips">
        <legend class="visually-hidden">{t('timeRange')}</legend>
        {PRESETS.map((preset) => (
          <button
            key={preset}
            type="button"
            class="chip chip-choice"
            aria-pressed={range.kind === 'live' && range.spanMs === presetMs(preset)}
            onClick={() => timeRange.set({ kind: 'live', spanMs: presetMs(preset) ?? 0 })}
          >
            {t(preset)}
          </button>
        ))}
        <button
          type="button"
          class="chip chip-choice"
          aria-pressed={range.kind === 'fixed'}
          onClick={() => setOpen(true)}
        >
          {t('custom')}
        </button>
      </fieldset>
      <div class="row range-moves">
        <Button icon="chevron-left" label={t('earlier')} onClick={() => timeRange.set(moved(span, -0.5))} />
        <Button icon="chevron-right" label={t('later')} onClick={() => timeRange.set(moved(span, 0.5))} />
        <Button icon="zoom-in" label={t('zoomIn')} onClick={() => timeRange.set(scaled(span, 0.5))} />
        <Button icon="zoom-out" label={t('zoomOut')} onClick={() => timeRange.set(scaled(span, 2))} />
      </div>
      <span class="muted range-said">
        {range.kind === 'fixed'
          ? t('fixed', { from: instant(span.fromMs), to: instant(span.toMs) })
          : isPaused.value
            ? t('paused')
            : t('live')}
      </span>
      {isOpen && <CustomRange span={span} onClose={() => setOpen(false)} />}
    </div>
  )
}

function CustomRange({ span, onClose }: { readonly span: Span; readonly onClose: () => void }) {
  const [begin, setBegin] = useState(localText(span.fromMs))
  const [end, setEnd] = useState(localText(span.toMs))
  const isRight = localMs(end) > localMs(begin)
  return (
    <Dialog
      title={t('timeRange')}
      onClose={onClose}
      actions={
        <Button
          kind="primary"
          disabledBecause={isRight ? undefined : t('wrong')}
          onClick={() => {
            timeRange.set(fixedRange(localMs(begin), localMs(end)))
            onClose()
          }}
        >
          {t('show')}
        </Button>
      }
    >
      <div class="form-pair">
        <Field label={t('from')} type="datetime-local" step={1} value={begin} onValue={setBegin} />
        <Field label={t('to')} type="datetime-local" step={1} value={end} onValue={setEnd} />
      </div>
      {!isRight && <p class="field-error">{t('wrong')}</p>}
    </Dialog>
  )
}
