// The versions of the shadow, newest first: who changed what. A change of the desired side can be taken back: it becomes
// edits, which are reviewed like any others.
import type { JsonObject } from '../../../../../../schemas/json.ts'
import { useAnswer } from '../../../data/answers.ts'
import { actorText } from '../../../parts/actor-text.ts'
import { Age } from '../../../parts/age.tsx'
import { AnswerTable } from '../../../parts/answer-table.tsx'
import { Button } from '../../../parts/button.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { pageValue } from '../../../parts/pager.tsx'
import { plainText } from '../../../parts/plain-text.ts'
import { isSame, pathKey, valueAt } from '../../../shadow-merge/leaves.ts'
import { type Edit, editsOf, valueAfter } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import { JsonText } from './json-text.tsx'

const t = words({
  change: ['Change', 'Änderung'],
  revert: ['Take back', 'Zurücknehmen'],
  revertLabel: ['Take back version {n}', 'Zurücknehmen: Version {n}'],
  none: ['The shadow has not changed yet', 'Der Shadow hat sich noch nicht geändert'],
  undone: ['The desired state has these values again already.', 'Der gewünschte Stand ist schon wieder so.'],
})

export interface ShadowHistoryProps {
  readonly deviceId: string
  readonly desired: JsonObject
  readonly onEdits: ((edits: readonly Edit[]) => void) | undefined
}

export function ShadowHistory({ deviceId, desired, onEdits }: ShadowHistoryProps) {
  const answer = useAnswer('getShadowHistory', {
    device_id: deviceId,
    query: { page: pageValue.value, per_page: 50 },
  })
  return (
    <AnswerTable
      answer={answer}
      empty={<Empty title={t('none')} />}
      caption={t('history')}
      idOf={({ version }) => String(version)}
      columns={[
        {
          name: t('version'),
          cell: ({ version, timestamp }) => (
            <>
              <strong>{version}</strong>{' '}
              <span class="muted">
                <Age at={timestamp} />
              </span>
            </>
          ),
        },
        { name: t('side'), cell: ({ section }) => t(section) },
        { name: t('by'), cell: ({ actor }) => actorText(actor) },
        {
          name: t('change'),
          cell: ({ version, section, patch, previous }) => (
            <>
              <Change patch={patch as JsonObject} previous={previous as JsonObject} />
              {section === 'desired' && onEdits !== undefined && (
                <TakeBack {...{ version, desired, onEdits }} previous={previous as JsonObject} />
              )}
            </>
          ),
        },
      ]}
    />
  )
}

interface TakeBackProps {
  readonly version: number
  readonly previous: JsonObject
  readonly desired: JsonObject
  readonly onEdits: (edits: readonly Edit[]) => void
}

function TakeBack({ version, previous, desired, onEdits }: TakeBackProps) {
  const open = editsOf(previous).filter((edit) => !isSame(valueAt(desired, edit.path), valueAfter(edit)))
  return (
    <Button
      kind="quiet"
      icon="undo-2"
      label={t('revertLabel', { n: version })}
      disabledBecause={open.length === 0 ? t('undone') : undefined}
      onClick={() => onEdits(open)}
    >
      {t('revert')}
    </Button>
  )
}

const LEAVES_MAX = 20

function Change({ patch, previous }: { readonly patch: JsonObject; readonly previous: JsonObject }) {
  const edits = editsOf(patch)
  return (
    <ul>
      {edits.slice(0, LEAVES_MAX).map((edit) => {
        const before = valueAt(previous, edit.path)
        return (
          <li key={pathKey(edit.path)}>
            <code>{plainText(edit.path.join('.'))}</code>{' '}
            <JsonText value={before === null ? undefined : before} /> → <JsonText value={valueAfter(edit)} />
          </li>
        )
      })}
      {edits.length > LEAVES_MAX && <li class="muted">+{edits.length - LEAVES_MAX}</li>}
    </ul>
  )
}
