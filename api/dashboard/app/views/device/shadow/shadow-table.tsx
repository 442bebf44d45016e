// One row for each leaf that either side has. Desired values can be changed in place, removed, and added.

import { Fragment } from 'preact'
import type { Operations, ReplyOf } from '../../../../../../schemas/client/calls.ts'
import type { Json, JsonObject } from '../../../../../../schemas/json.ts'
import { words as wordList } from '../../../address/codecs.ts'
import { useAnswer } from '../../../data/answers.ts'
import { queryValue } from '../../../navigation/navigation.ts'
import { actorText } from '../../../parts/actor-text.ts'
import { Age } from '../../../parts/age.tsx'
import { Button } from '../../../parts/button.tsx'
import { plainText } from '../../../parts/plain-text.ts'
import { authorOf, type Change } from '../../../shadow-merge/authors.ts'
import { type Path, pathKey, valueAt } from '../../../shadow-merge/leaves.ts'
import { type Edit, editTo } from '../../../shadow-merge/merge.ts'
import { type ShadowRow, shadowRows } from '../../../shadow-merge/rows.ts'
import { words } from '../../../words/words.ts'
import { AddLeaf } from './add-leaf.tsx'
import { groupRows } from './fold-rows.ts'
import { LeafEditor } from './leaf-editor.tsx'

const t = words({
  caption: ['Leaves of the shadow', 'Blätter des Shadows'],
  desired: ['Desired', 'Gewünscht'],
  desiredOf: ['Desired value of {name}', 'Gewünschter Wert von {name}'],
  reported: ['Reported', 'Gemeldet'],
  state: ['State', 'Stand'],
  'in-sync': ['in sync', 'stimmt überein'],
  'only-reported': ['only reported', 'nur gemeldet'],
  'only-desired': ['waiting, never reported', 'wartet, nie gemeldet'],
  remove: ['Remove {path}', '{path} entfernen'],
  undo: ['Undo the change of {path}', 'Änderung von {path} zurücknehmen'],
  removed: ['will be removed', 'wird entfernt'],
  changed: ['changed here', 'hier geändert'],
  by: ['by {who}', 'von {who}'],
  group: ['{name}: {n} leaf | {name}: {n} leaves', '{name}: {n} Blatt | {name}: {n} Blätter'],
  groupWaiting: ['{n} waiting', '{n} wartend'],
  none: ['There are no differences.', 'Es gibt keine Unterschiede.'],
})

/** First keys whose leaves are folded away. A key with a comma stays open. */
const folded = queryValue('fold', wordList())

const GLYPHS = { 'in-sync': '✓', waiting: '◔', 'only-reported': '·', 'only-desired': '◔' } as const

export type ShadowDocument = ReplyOf<Operations['getShadow']>

export interface ShadowTableProps {
  readonly document: ShadowDocument
  readonly edits: readonly Edit[]
  readonly onlyDifferences: boolean
  readonly onEdit: ((edit: Edit) => void) | undefined
  readonly onUndo: (path: Path) => void
}

export function ShadowTable({ document, edits, onlyDifferences, onEdit, onUndo }: ShadowTableProps) {
  const history = useAnswer('getShadowHistory', {
    device_id: document.device_id,
    query: { section: 'desired', per_page: 100 },
  })
  // The patches were JSON on their way.
  const changes = (history.data?.data ?? []) as readonly Change[]
  // Edits of leaves that neither side has yet are rows as well.
  const added = edits.filter(({ path }) => valueAt(document.desired as JsonObject, path) === undefined)
  const known = shadowRows(document.desired as JsonObject, document.reported as JsonObject)
  const isKnown = (path: Path) => known.some((row) => pathKey(row.path) === pathKey(path))
  const rows: readonly ShadowRow[] = [
    ...known,
    ...added
      .filter(({ path }) => !isKnown(path))
      .map(({ path }) => ({ path, desired: undefined, reported: undefined, state: 'only-desired' as const })),
  ]
  const shown = onlyDifferences
    ? rows.filter(({ state }) => state === 'waiting' || state === 'only-desired')
    : rows
  return (
    <div class="stack">
      {shown.length === 0 && onlyDifferences ? (
        <p class="muted">{t('none')}</p>
      ) : (
        <table class="table table-cards shadow-table">
          <caption class="visually-hidden">{t('caption')}</caption>
          <thead>
            <tr>
              <th scope="col">{t('leaf')}</th>
              <th scope="col">{t('desired')}</th>
              <th scope="col">{t('reported')}</th>
              <th scope="col">{t('state')}</th>
            </tr>
          </thead>
          <tbody>
            {groupRows(shown).map(({ key, rows: members, waitingCount }) => (
              <Fragment key={pathKey(members[0]?.path ?? [])}>
                {key !== undefined && (
                  <GroupHead name={key} leavesCount={members.length} waitingCount={waitingCount} />
                )}
                {(key === undefined || !folded.value.includes(key)) &&
                  members.map((row) => (
                    <Row
                      key={pathKey(row.path)}
                      {...{ row, document, onEdit, onUndo }}
                      edit={edits.find(({ path }) => pathKey(path) === pathKey(row.path))}
                      author={row.desired === undefined ? undefined : authorOf(row.path, changes)}
                    />
                  ))}
              </Fragment>
            ))}
          </tbody>
        </table>
      )}
      {onEdit !== undefined && <AddLeaf onEdit={onEdit} />}
    </div>
  )
}

interface GroupHeadProps {
  readonly name: string
  readonly leavesCount: number
  readonly waitingCount: number
}

function GroupHead({ name, leavesCount, waitingCount }: GroupHeadProps) {
  const isOpen = !folded.value.includes(name)
  const toggle = () =>
    folded.set(isOpen ? [...folded.value, name] : folded.value.filter((other) => other !== name))
  return (
    <tr class="shadow-group">
      <td colSpan={4}>
        <Button
          kind="quiet"
          icon={isOpen ? 'chevron-down' : 'chevron-right'}
          isExpanded={isOpen}
          onClick={toggle}
        >
          {t('group', { name: plainText(name), n: leavesCount })}
        </Button>
        {waitingCount > 0 && <span class="severity-warning">◔ {t('groupWaiting', { n: waitingCount })}</span>}
      </td>
    </tr>
  )
}

interface RowProps extends Pick<ShadowTableProps, 'document' | 'onEdit' | 'onUndo'> {
  readonly row: ShadowRow
  readonly edit: Edit | undefined
  /** The newest change of the desired value, where the history knows it. */
  readonly author: Change | undefined
}

function Row({ row, edit, author, document, onEdit, onUndo }: RowProps) {
  const name = plainText(row.path.join('.'))
  const times = document.metadata
  const since = (row.state === 'only-reported' ? times.reported : times.desired)[row.path.join('.')]
    ?.timestamp
  return (
    <tr class={edit === undefined ? undefined : 'row-edited'}>
      <td data-label={t('leaf')}>
        <code>{name}</code>
      </td>
      <td data-label={t('desired')}>
        <div class="row shadow-value">
          {edit?.kind === 'remove' ? (
            <em>{t('removed')}</em>
          ) : (
            <LeafEditor
              label={t('desiredOf', { name })}
              value={edit?.value ?? row.desired}
              onValue={onEdit === undefined ? undefined : (value: Json) => onEdit(editTo(row.path, value))}
            />
          )}
          {edit !== undefined && (
            <Button
              kind="quiet"
              icon="undo-2"
              label={t('undo', { path: name })}
              onClick={() => onUndo(row.path)}
            />
          )}
          {edit === undefined && onEdit !== undefined && row.desired !== undefined && (
            <Button
              kind="quiet"
              icon="trash-2"
              label={t('remove', { path: name })}
              onClick={() => onEdit({ kind: 'remove', path: row.path })}
            />
          )}
        </div>
      </td>
      <td data-label={t('reported')}>
        {row.reported === undefined ? (
          <span class="muted">–</span>
        ) : (
          <code>{plainText(JSON.stringify(row.reported))}</code>
        )}
      </td>
      <td data-label={t('state')}>
        <span
          class={
            row.state === 'in-sync'
              ? 'status-online'
              : row.state === 'only-reported'
                ? 'muted'
                : 'severity-warning'
          }
        >
          <span aria-hidden="true">{GLYPHS[row.state]}</span> {t(row.state)}
        </span>{' '}
        {since !== undefined && (
          <span class="muted">
            <Age at={since} />
          </span>
        )}
        {author !== undefined && <span class="muted"> · {t('by', { who: actorText(author.actor) })}</span>}
        {edit !== undefined && <strong> · {t('changed')}</strong>}
      </td>
    </tr>
  )
}
