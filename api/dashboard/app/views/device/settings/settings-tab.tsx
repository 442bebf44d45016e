// What a person says about the device. A change is meant for the version that was read: if somebody else was faster, both are
// shown and nothing is overwritten.
import { useState } from 'preact/hooks'
import type { DeviceBody } from '../../../../../../schemas/device.ts'
import { may } from '../../../data/access.ts'
import { refreshAnswers } from '../../../data/answers.ts'
import { fleet, RefusalError } from '../../../data/client.ts'
import { useWrite } from '../../../data/writes.ts'
import { Button } from '../../../parts/button.tsx'
import { Field } from '../../../parts/field.tsx'
import { JsonField, parsed } from '../../../parts/json-field.tsx'
import { plainText } from '../../../parts/plain-text.ts'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { isObject, type Json, type JsonObject } from '../../../shadow-merge/leaves.ts'
import { difference, patchOf } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import type { TabProps } from '../tabs.ts'
import { Decommission, DeviceTokens } from './danger.tsx'
import { changesOf, type Draft, draftOf, otherChanges } from './draft.ts'

const t = words({
  title: ['About the device', 'Über das Gerät'],
  name: ['Name', 'Name'],
  description: ['Description', 'Beschreibung'],
  group: ['Group', 'Gruppe'],
  groupHint: [
    'Levels with slashes: warehouse/a. Empty: in no group.',
    'Stufen mit Schrägstrichen: lager/a. Leer: in keiner Gruppe.',
  ],
  tags: ['Tags', 'Tags'],
  tagsHint: ['With commas between them.', 'Mit Kommas dazwischen.'],
  metadata: ['Metadata (JSON object)', 'Metadaten (JSON-Objekt)'],
  object: ['Metadata is a JSON object.', 'Metadaten sind ein JSON-Objekt.'],
  save: ['Save', 'Speichern'],
  saved: ['Saved.', 'Gespeichert.'],
  undo: ['Drop the changes', 'Änderungen verwerfen'],
  same: ['Nothing was changed.', 'Nichts wurde geändert.'],
  readOnly: ['Only an admin can change this.', 'Nur ein Admin kann das ändern.'],
  gone: ['A decommissioned device cannot be changed.', 'Ein ausgemustertes Gerät lässt sich nicht ändern.'],
  conflict: [
    'Somebody else changed this device meanwhile',
    'Jemand anders hat dieses Gerät inzwischen geändert',
  ],
  theirs: [
    'Changed by somebody else: {fields}. Your changes of other fields are kept.',
    'Von anderen geändert: {fields}. Ihre Änderungen anderer Felder bleiben.',
  ],
  keepMine: ['Save mine over it', 'Meine darüber speichern'],
  takeTheirs: ['Take theirs', 'Andere übernehmen'],
})

export default function SettingsTab({ device }: TabProps) {
  const [base, setBase] = useState<DeviceBody>(device)
  const [draft, setDraft] = useState<Draft>(() => draftOf(device))
  const [theirs, setTheirs] = useState<DeviceBody | undefined>(undefined)
  const isGone = device.status === 'decommissioned'
  const disabledBecause = isGone ? t('gone') : may('editDevice') ? undefined : t('readOnly')
  const metadata = parsed(draft.metadata)?.value as Json | undefined
  const isRight = isObject(metadata)
  const changes = changesOf(base, draft)
  const start = (from: DeviceBody) => {
    setBase(from)
    setDraft(draftOf(from))
    setTheirs(undefined)
  }
  const write = useWrite(async (on: DeviceBody) => {
    const body = {
      ...changesOf(base, draft),
      ...(isRight && draft.metadata !== draftOf(base).metadata
        ? { metadata: patchOf(difference(base.metadata as JsonObject, metadata)) }
        : {}),
    }
    try {
      start(await fleet.editDevice({ device_id: device.device_id, body, ifMatch: on.etag }))
      toast({ text: t('saved') })
    } catch (error) {
      if (!(error instanceof RefusalError) || error.status !== 412) throw error
      setTheirs(await fleet.getDevice({ device_id: device.device_id }))
    }
    refreshAnswers('getDevice')
  })
  const isChanged = Object.keys(changes).length > 0 || draft.metadata !== draftOf(base).metadata
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
        onSubmit={(event) => {
          event.preventDefault()
          if (disabledBecause === undefined && isChanged && isRight) void write.run(base)
        }}
      >
        <h2>{t('title')}</h2>
        {disabledBecause !== undefined && <p class="hint">{disabledBecause}</p>}
        {field('name')}
        {field('description')}
        {field('group', t('groupHint'))}
        {field('tags', t('tagsHint'))}
        <JsonField
          label={t('metadata')}
          text={draft.metadata}
          onText={set('metadata')}
          bytesMax={32_768}
          rows={8}
          {...(metadata !== undefined && !isRight ? { error: t('object') } : {})}
        />
        {theirs !== undefined && (
          <div class="problem" role="alert">
            <strong>{t('conflict')}</strong>
            <p>{t('theirs', { fields: otherChanges(base, theirs).map(plainText).join(', ') })}</p>
            <p class="row">
              <Button onClick={() => start(theirs)}>{t('takeTheirs')}</Button>
              <Button
                onClick={() => {
                  setTheirs(undefined)
                  void write.run(theirs)
                }}
              >
                {t('keepMine')}
              </Button>
            </p>
          </div>
        )}
        {write.error.value !== undefined && <ProblemCard error={write.error.value} />}
        <div class="row">
          <Button
            type="submit"
            kind="primary"
            icon="save"
            write={write}
            disabledBecause={disabledBecause ?? (isRight ? (isChanged ? undefined : t('same')) : t('object'))}
          >
            {t('save')}
          </Button>
          {isChanged && <Button onClick={() => start(device)}>{t('undo')}</Button>}
        </div>
      </form>
      <div class="stack">
        {may('issueDeviceToken') && !isGone && <DeviceTokens deviceId={device.device_id} />}
        {may('decommissionDevice') && !isGone && <Decommission device={device} />}
      </div>
    </div>
  )
}
