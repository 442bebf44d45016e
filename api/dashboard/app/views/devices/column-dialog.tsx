import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { COLUMN_IDS, type ColumnId, DEFAULT_COLUMNS } from './device-columns.tsx'
import { t } from './device-words.ts'

export interface ColumnDialogProps {
  readonly chosen: readonly ColumnId[]
  readonly onChosen: (ids: readonly ColumnId[]) => void
  readonly onClose: () => void
}

/** Which columns the list shows, and in which order. */
export function ColumnDialog({ chosen, onChosen, onClose }: ColumnDialogProps) {
  const others = COLUMN_IDS.filter((id) => !chosen.includes(id))
  const swap = (place: number, by: number) => {
    const next = [...chosen]
    const [moved] = next.splice(place, 1)
    if (moved !== undefined) next.splice(place + by, 0, moved)
    onChosen(next)
  }
  return (
    <Dialog
      title={t('columns')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={() => onChosen(DEFAULT_COLUMNS)}>{t('byDefault')}</Button>
          <Button kind="primary" onClick={onClose}>
            {t('done')}
          </Button>
        </>
      }
    >
      <p class="hint">{t('columnsHint')}</p>
      <ul class="column-list">
        {[...chosen, ...others].map((id) => {
          const place = chosen.indexOf(id)
          const isShown = place !== -1
          return (
            <li key={id} class="column-line">
              <label class="check">
                <input
                  type="checkbox"
                  checked={isShown}
                  onChange={() => {
                    const next = isShown ? chosen.filter((other) => other !== id) : [...chosen, id]
                    // A list without columns shows nothing that could be chosen again.
                    if (next.length > 0) onChosen(next)
                  }}
                />
                {t(id)}
              </label>
              {isShown && place > 0 && (
                <Button
                  kind="quiet"
                  icon="chevron-up"
                  label={t('earlier', { name: t(id) })}
                  onClick={() => swap(place, -1)}
                />
              )}
              {isShown && place < chosen.length - 1 && (
                <Button
                  kind="quiet"
                  icon="chevron-down"
                  label={t('later', { name: t(id) })}
                  onClick={() => swap(place, 1)}
                />
              )}
            </li>
          )
        })}
      </ul>
    </Dialog>
  )
}
