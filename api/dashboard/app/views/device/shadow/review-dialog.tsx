// What will be sent, old against new, for the version that it was made on. If another version came first, the dialog shows
// base, theirs and yours for each leaf that both changed; nothing of that is sent without a choice.

import { useEffect, useState } from 'preact/hooks'
import type { JsonObject } from '../../../../../../schemas/json.ts'
import { refreshAnswers, useAnswer } from '../../../data/answers.ts'
import { fleet, RefusalError } from '../../../data/client.ts'
import { useWrite } from '../../../data/writes.ts'
import { Button } from '../../../parts/button.tsx'
import { DataTable } from '../../../parts/data-table.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { plainText } from '../../../parts/plain-text.ts'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { authorOf, type Change } from '../../../shadow-merge/authors.ts'
import { pathKey, valueAt } from '../../../shadow-merge/leaves.ts'
import { applied, type Edit, patchOf, resolved, threeWay, valueAfter } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import type { Base } from './base.ts'
import { JsonText } from './json-text.tsx'
import { MergeTable } from './merge-table.tsx'

const t = words({
  title: ['Review the changes', 'Änderungen prüfen'],
  merge: ['Somebody else changed the shadow first', 'Jemand anders hat den Shadow zuerst geändert'],
  after: ['New', 'Neu'],
  bytes: ['{n} of {max} bytes of the desired state', '{n} von {max} Byte des gewünschten Stands'],
  send: ['Send for version {n}', 'Für Version {n} senden'],
  apply: ['Apply on version {n}', 'Auf Version {n} anwenden'],
  choose: ['Choose for each leaf first.', 'Wählen Sie zuerst für jedes Blatt.'],
  sent: ['The desired state has version {n}.', 'Der gewünschte Stand hat Version {n}.'],
  nothing: [
    'Nothing is left to send: the other version says the same.',
    'Es bleibt nichts zu senden: die andere Version sagt dasselbe.',
  ],
  drop: ['Close', 'Schließen'],
})

const BYTES_MAX = 65_536
const LOOK_EVERY_MS = 2000

export interface ReviewDialogProps {
  readonly deviceId: string
  readonly base: Base
  readonly edits: readonly Edit[]
  /** The edits that are left, and the document that they are about now. */
  readonly onEdits: (edits: readonly Edit[], base: Base) => void
  readonly onClose: () => void
  readonly onSent: () => void
}

export function ReviewDialog({ deviceId, base, edits, onEdits, onClose, onSent }: ReviewDialogProps) {
  const [theirs, setTheirs] = useState<Base | undefined>(undefined)
  const [choices, setChoices] = useState<ReadonlyMap<string, 'theirs' | 'yours'>>(new Map())
  const write = useWrite(async (wanted: readonly Edit[], on: Base) => {
    try {
      const shadow = await fleet.setDesiredState({
        device_id: deviceId,
        body: patchOf(wanted),
        ifMatch: on.version,
      })
      toast({ text: t('sent', { n: shadow.version }) })
    } catch (error) {
      if (!(error instanceof RefusalError) || (error.status !== 409 && error.status !== 412)) throw error
      // What is there now decides, not what the refusal knew.
      const now = await fleet.getShadow({ device_id: deviceId })
      onEdits(wanted, on)
      setChoices(new Map())
      setTheirs({ version: now.version, desired: now.desired as JsonObject })
      return
    }
    refreshAnswers('getShadow', 'getShadowHistory')
    onSent()
  })
  const newer = useNewer(deviceId, base.version, theirs?.version)
  const merge = theirs === undefined ? undefined : threeWay(base.desired, theirs.desired, edits)
  const wanted = merge === undefined ? edits : resolved(merge, choices)
  const on = theirs ?? base
  const isNothing = wanted?.length === 0
  const bytes = new TextEncoder().encode(JSON.stringify(applied(on.desired, patchOf(wanted ?? edits)))).length
  return (
    <Dialog
      isWide
      title={merge === undefined ? t('title') : t('merge')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('back')}</Button>
          {isNothing ? (
            <Button kind="primary" onClick={onSent}>
              {t('drop')}
            </Button>
          ) : (
            <Button
              kind="primary"
              write={write}
              disabledBecause={wanted === undefined ? t('choose') : undefined}
              onClick={() => {
                if (wanted === undefined) return
                if (theirs !== undefined) onEdits(wanted, theirs)
                void write.run(wanted, on)
              }}
            >
              {t(merge === undefined ? 'send' : 'apply', { n: on.version })}
            </Button>
          )}
        </>
      }
    >
      {merge === undefined ? (
        <DataTable
          caption={t('title')}
          rows={edits}
          idOf={({ path }) => pathKey(path)}
          columns={[
            { name: t('leaf'), cell: ({ path }) => <code>{plainText(path.join('.'))}</code> },
            { name: t('now'), cell: ({ path }) => <JsonText value={valueAt(base.desired, path)} /> },
            { name: t('after'), cell: (edit) => <JsonText value={valueAfter(edit)} /> },
          ]}
        />
      ) : (
        <MergeTable
          merge={merge}
          authorOf={(path) => authorOf(path, newer)}
          choices={choices}
          onChoice={(key, choice) => setChoices(new Map([...choices, [key, choice]]))}
        />
      )}
      {isNothing && <p role="status">{t('nothing')}</p>}
      <p class={bytes > BYTES_MAX ? 'field-error' : 'hint'}>{t('bytes', { n: bytes, max: BYTES_MAX })}</p>
      <ProblemCard error={write.error.value} />
    </Dialog>
  )
}

/** The changes between two versions. The history is written behind them, so it is looked at until it has them all. */
function useNewer(device_id: string, since: number, to: number | undefined): readonly Change[] {
  const [isThere, setThere] = useState(false)
  const { data } = useAnswer(
    'getShadowHistory',
    { device_id, query: { section: 'desired', per_page: 100 } },
    { isWanted: to !== undefined && !isThere, everyMs: LOOK_EVERY_MS },
  )
  const newer = to === undefined ? [] : (data?.data.filter(({ version }) => version > since) ?? [])
  const newest = newer[0]?.version ?? 0
  useEffect(() => setThere(to !== undefined && newest >= to), [newest, to])
  // The patches were JSON on their way.
  return newer as readonly Change[]
}
