// Chooses metrics by name: those on the charts as chips, the others found by typing; `battery.*` takes all below a prefix.
import { useId, useState } from 'preact/hooks'
import { LIMITS } from '../../limits.ts'
import type { QueryValue } from '../../navigation/navigation.ts'
import { plainText } from '../../parts/plain-text.ts'
import { submits } from '../../parts/submits.ts'
import { words } from '../../words/words.ts'
import type { Metric } from './metrics.ts'

const t = words({
  metrics: ['Metrics', 'Metriken'],
  add: ['Add a metric', 'Metrik hinzufügen'],
  hint: ['A name, or a prefix like battery.*', 'Ein Name, oder ein Anfang wie battery.*'],
  remove: ['Remove {name}', '{name} entfernen'],
  full: ['At most {n} lines at once.', 'Höchstens {n} Linien zugleich.'],
})

export interface MetricPickerProps {
  readonly metrics: readonly Metric[]
  /** Those on the charts, as far as they are known. */
  readonly chosen: readonly Pick<Metric, 'metric'>[]
  readonly value: QueryValue<readonly string[]>
  /** Takes names that are not among the metrics. */
  readonly isFree?: boolean
}

const OFFERED_MAX = 200

export function MetricPicker({ metrics, chosen, value, isFree = false }: MetricPickerProps) {
  const id = useId()
  const [typed, setTyped] = useState('')
  const names = value.value.length > 0 ? value.value : chosen.map(({ metric }) => metric)
  const add = (name: string) => {
    const isKnown = metrics.some(({ metric }) => metric === name) || (name.endsWith('*') && name.length > 1)
    if (!(isKnown || (isFree && name.trim() !== '' && !name.includes(',')))) return
    if (!names.includes(name)) value.set([...names, name], { replace: false })
    setTyped('')
  }
  const others = metrics.filter(({ metric }) => !names.includes(metric)).slice(0, OFFERED_MAX)
  return (
    <div class="metric-picker">
      <ul class="chips" aria-label={t('metrics')}>
        {names.map((name) => (
          <li key={name}>
            <button
              type="button"
              class="chip chip-choice"
              aria-label={t('remove', { name })}
              onClick={() =>
                value.set(
                  names.filter((other) => other !== name),
                  { replace: false },
                )
              }
            >
              {plainText(name)} <span aria-hidden="true">×</span>
            </button>
          </li>
        ))}
      </ul>
      <form class="metric-add" onSubmit={submits(() => add(typed))}>
        <label for={id} class="visually-hidden">
          {t('add')}
        </label>
        <input
          id={id}
          class="input"
          type="text"
          list={`${id}-all`}
          autocomplete="off"
          spellcheck={false}
          placeholder={t('hint')}
          value={typed}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value)
            // Choosing from the list is a whole name at once.
            if (metrics.some(({ metric }) => metric === currentTarget.value)) add(currentTarget.value)
          }}
        />
        <datalist id={`${id}-all`}>
          {others.map(({ metric }) => (
            <option key={metric} value={metric} />
          ))}
        </datalist>
      </form>
      {chosen.length >= LIMITS.chartSeriesMax && (
        <span class="hint">{t('full', { n: LIMITS.chartSeriesMax })}</span>
      )}
    </div>
  )
}
