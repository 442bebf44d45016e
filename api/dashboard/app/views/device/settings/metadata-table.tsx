// The metadata leaf by leaf: each value can be changed, removed, and others added.

import type { JsonObject } from '../../../../../../schemas/json.ts'
import { Button } from '../../../parts/button.tsx'
import { DataTable } from '../../../parts/data-table.tsx'
import { plainText } from '../../../parts/plain-text.ts'
import { leavesOf, type Path, pathKey } from '../../../shadow-merge/leaves.ts'
import { applied, type Edit, editTo, patchOf } from '../../../shadow-merge/merge.ts'
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
        <DataTable
          caption={t('caption')}
          rows={leaves}
          idOf={({ path }) => pathKey(path)}
          columns={[
            { name: t('leaf'), cell: ({ path }) => <code>{nameOf(path)}</code> },
            {
              name: t('value'),
              cell: ({ path, value }) => (
                <div class="row shadow-value">
                  <LeafEditor
                    label={t('valueOf', { name: nameOf(path) })}
                    value={value}
                    onValue={edit && ((next) => edit(editTo(path, next)))}
                  />
                  {edit !== undefined && (
                    <Button
                      kind="quiet"
                      icon="trash-2"
                      label={t('remove', { path: nameOf(path) })}
                      onClick={() => edit({ kind: 'remove', path })}
                    />
                  )}
                </div>
              ),
            },
          ]}
        />
      )}
      {edit !== undefined && <AddLeaf onEdit={edit} />}
    </div>
  )
}

const nameOf = (path: Path) => plainText(path.join('.'))
