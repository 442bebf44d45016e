// Three versions of each leaf: what the edits were made on, what somebody else made of it, and what you want.

import { actorText } from '../../../parts/actor-text.ts'
import { plainText } from '../../../parts/plain-text.ts'
import type { Change } from '../../../shadow-merge/authors.ts'
import { type Path, pathKey } from '../../../shadow-merge/leaves.ts'
import { type Merge, valueAfter } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import { JsonText } from './json-text.tsx'

const t = words({
  base: ['Before', 'Vorher'],
  theirs: ['Theirs', 'Andere'],
  choice: ['Keep', 'Behalten'],
  keep: ['Value to keep for {path}', 'Was für {path} gilt'],
  taken: ['yours, unchanged by others', 'Ihre; niemand sonst hat es geändert'],
  by: ['by {who}, version {n}', 'von {who}, Version {n}'],
  same: ['both want the same', 'beide wollen dasselbe'],
  other: ['theirs, you did not change it', 'Andere; Sie haben es nicht geändert'],
})

export interface MergeTableProps {
  readonly merge: Merge
  /** The newest change of a leaf; undefined while it is not known. */
  readonly authorOf: (path: Path) => Change | undefined
  readonly choices: ReadonlyMap<string, 'theirs' | 'yours'>
  readonly onChoice: (key: string, choice: 'theirs' | 'yours') => void
}

export function MergeTable({ merge, authorOf, choices, onChoice }: MergeTableProps) {
  return (
    <table class="table table-cards">
      <thead>
        <tr>
          <th scope="col">{t('leaf')}</th>
          <th scope="col">{t('base')}</th>
          <th scope="col">{t('theirs')}</th>
          <th scope="col">{t('yours')}</th>
          <th scope="col">{t('choice')}</th>
        </tr>
      </thead>
      <tbody>
        {merge.conflicts.map(({ edit, base, theirs, yours }) => {
          const key = pathKey(edit.path)
          const path = plainText(edit.path.join('.'))
          return (
            <tr key={key} class="row-edited">
              <td data-label={t('leaf')}>
                <code>{path}</code>
              </td>
              <td data-label={t('base')}>
                <JsonText value={base} />
              </td>
              <td data-label={t('theirs')}>
                <JsonText value={theirs} /> <Author of={authorOf(edit.path)} />
              </td>
              <td data-label={t('yours')}>
                <JsonText value={yours} />
              </td>
              <td data-label={t('choice')}>
                <fieldset class="chips">
                  <legend class="visually-hidden">{t('keep', { path })}</legend>
                  {(['theirs', 'yours'] as const).map((choice) => (
                    <label key={choice} class="check">
                      <input
                        type="radio"
                        name={key}
                        checked={choices.get(key) === choice}
                        onChange={() => onChoice(key, choice)}
                      />
                      {t(choice)}
                    </label>
                  ))}
                </fieldset>
              </td>
            </tr>
          )
        })}
        {(
          [
            ['taken', merge.untouched],
            ['same', merge.fulfilled],
            ['other', merge.others],
          ] as const
        ).flatMap(([why, edits]) =>
          edits.map((edit) => (
            <tr key={`${why} ${pathKey(edit.path)}`}>
              <td data-label={t('leaf')}>
                <code>{plainText(edit.path.join('.'))}</code>
              </td>
              <td colSpan={3} data-label={t('choice')}>
                <JsonText value={valueAfter(edit)} />
              </td>
              <td class="muted">
                {t(why)} {why !== 'taken' && <Author of={authorOf(edit.path)} />}
              </td>
            </tr>
          )),
        )}
      </tbody>
    </table>
  )
}

function Author({ of }: { readonly of: Change | undefined }) {
  return of === undefined ? null : (
    <span class="hint">{t('by', { who: actorText(of.actor), n: of.version })}</span>
  )
}
