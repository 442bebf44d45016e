// The metadata leaf by leaf: each value can be changed, removed, and others added.
import type { JsonObject } from '../../../../../../schemas/json.ts'
import { Button } from '../../../parts/button.tsx'
import { plainText } from '../../../parts/plain-text.ts'
import { leavesOf, pathKey } from '../../../shadow-merge/leaves.ts'
import { applied, type Edit, patchOf, wishFor } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import { AddLeaf } from '../shadow/add-leaf.tsx'
import { LeafEditor } from '../shadow/leaf-editor.tsx'
import '../shadow/shadow.css'

const t = words({
  caption: ['Metadata', 'Metadaten'],
  valueOf: ['Value of {name}', 'Wert von {name}'],
  remove: ['Remove {path}', '{path} entfernen'],
  none: ['No metadata.', 'Es gibt keine Metadaten.'],
})

export interface MetadataTableProps {
  readonly metadata: JsonObject
  /** Undefined only shows it. */
  readonly onMetadata: ((metadata: JsonObject) => void) | undefined
}

export function MetadataTable({ metadata, onMetadata }: MetadataTableProps) {
  const leaves = leavesOf(metadata)
  const edit = onMetadata && ((wish: Edit) => onMetadata(applied(metadata, patchOf([wish]))))
  return (
    <div class="stack">
      {leaves.length === 0 ? (
        <p class="muted">{t('none')}</p>
      ) : (
        <table class="table table-cards">
          <caption class="visually-hidden">{t('caption')}</caption>
          <thead>
            <tr>
              <th scope="col">{t('leaf')}</th>
              <th scope="col">{t('value')}</th>
            </tr>
          </thead>
          <tbody>
            {leaves.map(({ path, value }) => {
              const name = plainText(path.join('.'))
              return (
                <tr key={pathKey(path)}>
                  <td data-label={t('leaf')}>
                    <code>{name}</code>
                  </td>
                  <td data-label={t('value')}>
                    <div class="row shadow-value">
                      <LeafEditor
                        label={t('valueOf', { name })}
                        value={value}
                        onValue={edit && ((next) => edit(wishFor(path, next)))}
                      />
                      {edit !== undefined && (
                        <Button
                          kind="quiet"
                          icon="trash-2"
                          label={t('remove', { path: name })}
                          onClick={() => edit({ kind: 'remove', path })}
                        />
                      )}
                    </div>
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      )}
      {edit !== undefined && <AddLeaf onEdit={edit} />}
    </div>
  )
}
