// Somebody else changed the device first: base, theirs and yours, field by field. Nothing that both changed is sent without a
// choice.
import { useState } from 'preact/hooks'
import type { DeviceBody } from '../../../../../../schemas/device.ts'
import type { Write } from '../../../data/writes.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { type Edit, resolved, threeWay } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import { MergeTable } from '../shadow/merge-table.tsx'
import { documentOf } from './draft.ts'

const t = words({
  title: ['Somebody else changed this device', 'Jemand anders hat dieses Gerät zuerst geändert'],
  take: ['Take theirs', 'Andere übernehmen'],
  save: ['Save over the newer version', 'Auf der neueren Version speichern'],
  choose: ['Choose a value for each field first.', 'Wählen Sie zuerst für jedes Feld.'],
  nothing: [
    'Nothing left to save: the other version has the same values.',
    'Es bleibt nichts zu speichern: die andere Version sagt dasselbe.',
  ],
})

export interface ConflictDialogProps {
  readonly base: DeviceBody
  readonly theirs: DeviceBody
  readonly edits: readonly Edit[]
  readonly write: Pick<Write<[]>, 'isUnderWay' | 'error'>
  readonly onSave: (edits: readonly Edit[]) => void
  readonly onTake: () => void
  readonly onClose: () => void
}

export function ConflictDialog(props: ConflictDialogProps) {
  const { base, theirs, edits, write, onSave, onTake, onClose } = props
  const [choices, setChoices] = useState<ReadonlyMap<string, 'theirs' | 'yours'>>(new Map())
  const merge = threeWay(documentOf(base), documentOf(theirs), edits)
  const wanted = resolved(merge, choices)
  const isNothing = wanted?.length === 0
  return (
    <Dialog
      isWide
      title={t('title')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('back')}</Button>
          <Button onClick={onTake}>{t('take')}</Button>
          <Button
            kind="primary"
            write={write}
            disabledBecause={wanted === undefined ? t('choose') : isNothing ? t('nothing') : undefined}
            onClick={() => wanted !== undefined && onSave(wanted)}
          >
            {t('save')}
          </Button>
        </>
      }
    >
      <MergeTable
        merge={merge}
        authorOf={() => undefined}
        choices={choices}
        onChoice={(key, choice) => setChoices(new Map([...choices, [key, choice]]))}
      />
      {isNothing && <p role="status">{t('nothing')}</p>}
      <ProblemCard error={write.error.value} />
    </Dialog>
  )
}
