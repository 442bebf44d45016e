// Each side as JSON. Changes of the desired one become edits like any others.

import { useState } from 'preact/hooks'
import { isObject, type JsonObject, parseJson } from '../../../../../../schemas/json.ts'
import { Button } from '../../../parts/button.tsx'
import { JsonField } from '../../../parts/json-field.tsx'
import { difference, type Edit } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import type { ShadowDocument } from './shadow-table.tsx'

const t = words({
  desired: ['Desired', 'Gewünscht'],
  reported: ['Reported', 'Gemeldet'],
  take: ['Take the changes over', 'Änderungen übernehmen'],
  object: ['The desired state is a JSON object.', 'Der gewünschte Stand ist ein JSON-Objekt.'],
  same: ['Nothing has changed.', 'Nichts wurde geändert.'],
})

export interface ShadowJsonProps {
  readonly document: ShadowDocument
  readonly onEdits: ((edits: readonly Edit[]) => void) | undefined
}

export function ShadowJson({ document, onEdits }: ShadowJsonProps) {
  const [text, setText] = useState(() => JSON.stringify(document.desired, null, 2))
  const value = parseJson(text)
  const edits = isObject(value) ? difference(document.desired as JsonObject, value) : undefined
  return (
    <div class="shadow-sides">
      <section class="card">
        {onEdits === undefined ? (
          <>
            <h2>{t('desired')}</h2>
            <Side value={document.desired} />
          </>
        ) : (
          <>
            <JsonField
              label={t('desired')}
              text={text}
              onText={setText}
              rows={20}
              bytesMax={65_536}
              {...(value !== undefined && !isObject(value) ? { error: t('object') } : {})}
            />
            <Button
              disabledBecause={edits === undefined ? t('object') : edits.length === 0 ? t('same') : undefined}
              onClick={() => edits !== undefined && onEdits(edits)}
            >
              {t('take')}
            </Button>
          </>
        )}
      </section>
      <section class="card">
        <h2>{t('reported')}</h2>
        <Side value={document.reported} />
      </section>
    </div>
  )
}

/** A document, to be scrolled in its frame. */
export function Side({ value }: { readonly value: unknown }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable by keys.
    <pre class="json-side" tabIndex={0}>
      {JSON.stringify(value, null, 2)}
    </pre>
  )
}
