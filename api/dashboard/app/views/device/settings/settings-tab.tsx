// What a person says about the device. A change is meant for the version that was read: if somebody else was faster, both are
// shown and nothing is overwritten.

import { useState } from 'preact/hooks'
import type { DeviceBody } from '../../../../../../schemas/device.ts'
import { isObject, type JsonObject, parseJson } from '../../../../../../schemas/json.ts'
import { flag } from '../../../address/codecs.ts'
import { may } from '../../../data/access.ts'
import { refreshAnswers } from '../../../data/answers.ts'
import { fleet, RefusalError } from '../../../data/client.ts'
import { useWrite } from '../../../data/writes.ts'
import { queryValue } from '../../../navigation/navigation.ts'
import { Button } from '../../../parts/button.tsx'
import { CheckField } from '../../../parts/check-field.tsx'
import { Field } from '../../../parts/field.tsx'
import { JsonField } from '../../../parts/json-field.tsx'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { submits } from '../../../parts/submits.ts'
import { toast } from '../../../parts/toasts.tsx'
import { type Edit, patchOf } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import type { TabProps } from '../tabs.ts'
import { ConflictDialog } from './conflict-dialog.tsx'
import { Decommission, DeviceTokens } from './danger.tsx'
import { type Draft, draftAfter, draftOf, editsOf } from './draft.ts'
import { MetadataTable } from './metadata-table.tsx'

/** The metadata as one text instead of a table of leaves. */
const asJson = queryValue('json', flag)

const t = words({
  title: ['Device details', 'Über das Gerät'],
  description: ['Description', 'Beschreibung'],
  groupHint: [
    'A path such as warehouse/a. Leave empty for no group.',
    'Stufen mit Schrägstrichen: lager/a. Leer: in keiner Gruppe.',
  ],
  tagsHint: ['Separate with commas.', 'Mehrere durch Kommas trennen.'],
  metadata: ['Metadata (JSON object)', 'Metadaten (JSON-Objekt)'],
  object: ['Metadata must be a JSON object.', 'Metadaten sind ein JSON-Objekt.'],
  saved: ['Saved.', 'Gespeichert.'],
  undo: ['Discard changes', 'Änderungen verwerfen'],
  same: ['Nothing has changed.', 'Nichts wurde geändert.'],
  readOnly: ['Only an admin can change this.', 'Nur ein Admin kann das ändern.'],
  gone: ['A decommissioned device cannot be changed.', 'Ein ausgemustertes Gerät lässt sich nicht ändern.'],
  asJson: ['Metadata as JSON', 'Metadaten als JSON'],
  metadataHead: ['Metadata', 'Metadaten'],
})

export default function SettingsTab({ device }: TabProps) {
  const [base, setBase] = useState<DeviceBody>(device)
  const [draft, setDraft] = useState<Draft>(() => draftOf(device))
  const [theirs, setTheirs] = useState<DeviceBody | undefined>(undefined)
  const isGone = device.status === 'decommissioned'
  const disabledBecause = isGone ? t('gone') : may('editDevice') ? undefined : t('readOnly')
  const metadata = parseJson(draft.metadata)
  const isRight = isObject(metadata)
  const edits = editsOf(base, draft, isRight ? metadata : (base.metadata as JsonObject))
  const start = (from: DeviceBody) => {
    setBase(from)
    setDraft(draftOf(from))
    setTheirs(undefined)
  }
  const write = useWrite(async (wanted: readonly Edit[], on: DeviceBody) => {
    const body = patchOf(wanted)
    try {
      const saved = await fleet.editDevice({ device_id: device.device_id, body, ifMatch: on.etag })
      setBase(saved)
      setDraft((now) => draftAfter(saved, draft, now))
      setTheirs(undefined)
      toast({ text: t('saved') })
    } catch (error) {
      if (!(error instanceof RefusalError) || error.status !== 412) throw error
      setTheirs(await fleet.getDevice({ device_id: device.device_id }))
    }
    refreshAnswers('getDevice')
  })
  const isChanged = edits.length > 0 || draft.metadata !== draftOf(base).metadata
  const set = (name: keyof Draft) => (value: string) => setDraft({ ...draft, [name]: value })
  const field = (name: 'name' | 'group' | 'tags' | 'description', hint?: string) => (
    <Field
      label={t(name)}
      {...(hint === undefined ? {} : { hint })}
      value={draft[name]}
      onValue={set(name)}
      autocomplete="off"
      error={write.error.value}
      pointer={`/${name}`}
    />
  )
  return (
    <div class="device-columns">
      <form
        class="card"
        noValidate
        onSubmit={submits(() => {
          if (disabledBecause === undefined && edits.length > 0 && isRight) void write.run(edits, base)
        })}
      >
        <h2>{t('title')}</h2>
        {disabledBecause !== undefined && <p class="hint">{disabledBecause}</p>}
        {field('name')}
        {field('description')}
        {field('group', t('groupHint'))}
        {field('tags', t('tagsHint'))}
        <h3>{t('metadataHead')}</h3>
        <CheckField label={t('asJson')} isOn={asJson.value} onValue={(isOn) => asJson.set(isOn)} />
        {asJson.value || !isRight ? (
          <JsonField
            label={t('metadata')}
            text={draft.metadata}
            onText={set('metadata')}
            bytesMax={32_768}
            rows={8}
            {...(metadata !== undefined && !isRight ? { error: t('object') } : {})}
          />
        ) : (
          <MetadataTable
            metadata={metadata}
            onMetadata={
              disabledBecause === undefined
                ? (next) => set('metadata')(JSON.stringify(next, null, 2))
                : undefined
            }
          />
        )}
        <ProblemCard error={write.error.value} />
        <div class="row">
          <Button
            type="submit"
            kind="primary"
            icon="save"
            write={write}
            disabledBecause={
              disabledBecause ?? (isRight ? (edits.length > 0 ? undefined : t('same')) : t('object'))
            }
          >
            {t('save')}
          </Button>
          {isChanged && <Button onClick={() => start(device)}>{t('undo')}</Button>}
        </div>
      </form>
      {theirs !== undefined && (
        <ConflictDialog
          {...{ base, theirs, edits, write }}
          onSave={(wanted) => void write.run(wanted, theirs)}
          onTake={() => start(theirs)}
          onClose={() => setTheirs(undefined)}
        />
      )}
      <div class="stack">
        {may('issueDeviceToken') && !isGone && <DeviceTokens deviceId={device.device_id} />}
        {may('decommissionDevice') && !isGone && <Decommission device={device} />}
      </div>
    </div>
  )
}
