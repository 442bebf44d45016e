// Each side as JSON. Changes of the desired one become edits like any others. A text that nobody has changed follows the
// document; a changed one is about the version that it was begun on, so that a version that arrives meanwhile is merged and
// not undone by it.

import { useEffect, useState } from 'preact/hooks'
import { isObject, type JsonObject, parseJson } from '../../../../../../schemas/json.ts'
import { Button } from '../../../parts/button.tsx'
import { JsonField } from '../../../parts/json-field.tsx'
import { plainJson } from '../../../parts/plain-text.ts'
import { isSame } from '../../../shadow-merge/leaves.ts'
import { difference, type Edit } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import type { Base } from './base.ts'
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
  readonly onEdits: ((edits: readonly Edit[], on: Base) => void) | undefined
  /** Edits that were taken over are neither sent nor dropped yet. */
  readonly hasEdits: boolean
}

interface WrittenText {
  readonly text: string
  readonly on: Base
  readonly isTaken: boolean
}

export function ShadowJson({ document, onEdits, hasEdits }: ShadowJsonProps) {
  const [written, setWritten] = useState<WrittenText | undefined>(undefined)
  useEffect(() => {
    if (!hasEdits) setWritten((before) => (before?.isTaken === true ? undefined : before))
  }, [hasEdits])
  const now: Base = { version: document.version, desired: document.desired as JsonObject }
  const text = written?.text ?? JSON.stringify(now.desired, null, 2)
  const value = parseJson(text)
  // What the document says already is no change of it.
  const on = written === undefined || isSame(value, now.desired) ? now : written.on
  const edits = isObject(value) ? difference(on.desired, value) : undefined
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
              onText={(next) => setWritten({ text: next, on, isTaken: false })}
              rows={20}
              bytesMax={65_536}
              {...(value !== undefined && !isObject(value) ? { error: t('object') } : {})}
            />
            <Button
              disabledBecause={edits === undefined ? t('object') : edits.length === 0 ? t('same') : undefined}
              onClick={() => {
                if (edits === undefined) return
                onEdits(edits, on)
                setWritten({ text, on, isTaken: true })
              }}
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
      {plainJson(value)}
    </pre>
  )
}
