// Which columns the list shows, in which order, and which of them stay in sight: those of the index, metrics, and leaves of the
// metadata.

import { useState } from 'preact/hooks'
import {
  COLUMNS_MAX,
  type ColumnChoice,
  METRIC_COLUMNS_MAX,
  metaColumn,
  metricColumn,
  metricOf,
} from '../../address/column-choices.ts'
import { useAnswer } from '../../data/answers.ts'
import { LIMITS } from '../../limits.ts'
import { Button } from '../../parts/button.tsx'
import { CheckField } from '../../parts/check-field.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { submits } from '../../parts/submits.ts'
import { COLUMN_IDS, DEFAULT_COLUMNS } from './column-ids.ts'
import { columnName } from './device-columns.tsx'
import { t } from './device-words.ts'

export interface ColumnDialogProps {
  readonly chosen: readonly ColumnChoice[]
  readonly onChosen: (choices: readonly ColumnChoice[]) => void
  readonly pinned: number
  readonly onPinned: (count: number) => void
  /** A device whose metrics are offered. */
  readonly sample: string | undefined
  readonly onClose: () => void
}

export function ColumnDialog({ chosen, onChosen, pinned, onPinned, sample, onClose }: ColumnDialogProps) {
  const ids = chosen.map(({ id }) => id)
  const others = COLUMN_IDS.filter((id) => !ids.includes(id))
  const known = useAnswer('listMetrics', { device_id: sample ?? '-' }, { isWanted: sample !== undefined })
  const metrics = ids.flatMap((id) => metricOf(id) ?? [])
  const full = ids.length >= COLUMNS_MAX ? t('full', { n: COLUMNS_MAX }) : undefined
  const swap = (place: number, by: number) => {
    const next = [...chosen]
    const [moved] = next.splice(place, 1)
    if (moved !== undefined) next.splice(place + by, 0, moved)
    onChosen(next)
  }
  const add = (id: string) => {
    if (!ids.includes(id)) onChosen([...chosen, { id }])
  }
  return (
    <Dialog
      title={t('columns')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={() => onChosen(DEFAULT_COLUMNS.map((id) => ({ id })))}>{t('byDefault')}</Button>
          <Button kind="primary" onClick={onClose}>
            {t('done')}
          </Button>
        </>
      }
    >
      <p class="hint">{t('columnsHint')}</p>
      {full !== undefined && (
        <p class="hint" role="status">
          {full}
        </p>
      )}
      <SelectField
        label={t('pinned')}
        value={String(pinned)}
        options={Array.from({ length: LIMITS.pinnedColumnsMax + 1 }, (_, n) => [
          String(n),
          n === 0 ? t('pinned0') : t('pinnedN', { n }),
        ])}
        onValue={(count) => onPinned(Number(count))}
      />
      <ul class="column-list">
        {[...ids, ...others].map((id) => {
          const place = ids.indexOf(id)
          const isShown = place !== -1
          return (
            <li key={id} class="column-line">
              <CheckField
                label={columnName(id)}
                isOn={isShown}
                // A list without columns shows nothing that could be chosen again.
                disabledBecause={isShown ? (chosen.length > 1 ? undefined : t('last')) : full}
                onValue={() => {
                  if (isShown) onChosen(chosen.filter((choice) => choice.id !== id))
                  else add(id)
                }}
              />
              {isShown && place > 0 && (
                <Button
                  kind="quiet"
                  icon="chevron-up"
                  label={t('earlier', { name: columnName(id) })}
                  onClick={() => swap(place, -1)}
                />
              )}
              {isShown && place < chosen.length - 1 && (
                <Button
                  kind="quiet"
                  icon="chevron-down"
                  label={t('later', { name: columnName(id) })}
                  onClick={() => swap(place, 1)}
                />
              )}
            </li>
          )
        })}
      </ul>
      <AddColumn
        label={t('metric')}
        hint={t('metricHint', { n: METRIC_COLUMNS_MAX })}
        action={t('addMetric')}
        offered={known.data?.data.map(({ metric }) => metric) ?? []}
        because={metrics.length >= METRIC_COLUMNS_MAX ? t('metricHint', { n: METRIC_COLUMNS_MAX }) : full}
        onAdd={(name) => add(metricColumn(name))}
      />
      <AddColumn
        label={t('meta')}
        hint={t('metaHint')}
        action={t('addMeta')}
        offered={[]}
        because={full}
        onAdd={(path) => add(metaColumn(path))}
      />
    </Dialog>
  )
}

interface AddColumnProps {
  readonly label: string
  readonly hint: string
  readonly action: string
  readonly offered: readonly string[]
  /** Why there can be no more. */
  readonly because: string | undefined
  readonly onAdd: (name: string) => void
}

function AddColumn({ label, hint, action, offered, because, onAdd }: AddColumnProps) {
  const [typed, setTyped] = useState('')
  return (
    <form
      class="row"
      onSubmit={submits(() => {
        if (because !== undefined || typed.trim() === '') return
        onAdd(typed.trim())
        setTyped('')
      })}
    >
      <Field
        label={label}
        hint={hint}
        value={typed}
        onValue={setTyped}
        suggestions={offered}
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
      />
      <Button type="submit" disabledBecause={because}>
        {action}
      </Button>
    </form>
  )
}
