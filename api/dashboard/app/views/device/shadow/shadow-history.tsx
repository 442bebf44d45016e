// The versions of the shadow, newest first: who changed what. A change of the desired side can be taken back: it becomes
// edits, which are reviewed like any others.
import type { JsonObject } from '../../../../../../schemas/json.ts'
import { useAnswer } from '../../../data/answers.ts'
import { actorText } from '../../../parts/actor-text.ts'
import { Age } from '../../../parts/age.tsx'
import { AnswerArea } from '../../../parts/answer-area.tsx'
import { Button } from '../../../parts/button.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Pager, pageValue } from '../../../parts/pager.tsx'
import { plainText } from '../../../parts/plain-text.ts'
import { isSame, pathKey, valueAt } from '../../../shadow-merge/leaves.ts'
import { type Edit, editsOf, wishOf } from '../../../shadow-merge/merge.ts'
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
    <AnswerArea answer={answer}>
      {({ data, page = 1, total = 0, total_pages = 1 }) =>
        data.length === 0 ? (
          <Empty title={t('none')} />
        ) : (
          <>
            <table class="table table-cards">
              <thead>
                <tr>
                  <th scope="col">{t('version')}</th>
                  <th scope="col">{t('side')}</th>
                  <th scope="col">{t('by')}</th>
                  <th scope="col">{t('change')}</th>
                </tr>
              </thead>
              <tbody>
                {data.map((entry) => {
                  const undo = editsOf(entry.previous as JsonObject)
                  const open = undo.filter((edit) => !isSame(valueAt(desired, edit.path), wishOf(edit)))
                  return (
                    <tr key={entry.version}>
                      <td data-label={t('version')}>
                        <strong>{entry.version}</strong>{' '}
                        <span class="muted">
                          <Age at={entry.timestamp} />
                        </span>
                      </td>
                      <td data-label={t('side')}>{t(entry.section)}</td>
                      <td data-label={t('by')}>{actorText(entry.actor)}</td>
                      <td data-label={t('change')}>
                        <Change patch={entry.patch as JsonObject} previous={entry.previous as JsonObject} />
                        {entry.section === 'desired' && onEdits !== undefined && (
                          <Button
                            kind="quiet"
                            icon="undo-2"
                            label={t('revertLabel', { n: entry.version })}
                            disabledBecause={open.length === 0 ? t('undone') : undefined}
                            onClick={() => onEdits(open)}
                          >
                            {t('revert')}
                          </Button>
                        )}
                      </td>
                    </tr>
                  )
                })}
              </tbody>
            </table>
            <Pager of={{ page, total, total_pages }} />
          </>
        )
      }
    </AnswerArea>
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
            <JsonText value={before === null ? undefined : before} /> → <JsonText value={wishOf(edit)} />
          </li>
        )
      })}
      {edits.length > LEAVES_MAX && <li class="muted">+{edits.length - LEAVES_MAX}</li>}
    </ul>
  )
}
