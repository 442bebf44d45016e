// The shadow: what is wanted of the device and what it says, leaf by leaf. Edits are collected and reviewed before they are
// sent for the version that they were made on; a version that arrives meanwhile changes the rows, never the edits.

import { useEffect, useState } from 'preact/hooks'
import type { JsonObject } from '../../../../../../schemas/json.ts'
import { oneOf } from '../../../address/codecs.ts'
import { may } from '../../../data/access.ts'
import { useAnswer } from '../../../data/answers.ts'
import { useLiveAnswers } from '../../../live/live-answers.ts'
import { queryValue } from '../../../navigation/navigation.ts'
import { Age } from '../../../parts/age.tsx'
import { AnswerArea } from '../../../parts/answer-area.tsx'
import { Button } from '../../../parts/button.tsx'
import { SelectField } from '../../../parts/select-field.tsx'
import { type Edit, threeWay, withEdit, withoutEdit } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import type { TabProps } from '../tabs.ts'
import type { Base } from './base.ts'
import { ReviewDialog } from './review-dialog.tsx'
import './shadow.css'
import { ShadowEmpty } from './shadow-empty.tsx'
import { ShadowHistory } from './shadow-history.tsx'
import { ShadowJson } from './shadow-json.tsx'
import { ShadowTable } from './shadow-table.tsx'
import { ShadowVersions } from './shadow-versions.tsx'

const t = words({
  all: ['all leaves', 'alle Blätter'],
  differences: ['differences', 'Unterschiede'],
  json: ['JSON', 'JSON'],
  history: ['history', 'Verlauf'],
  version: ['Version {n}', 'Version {n}'],
  synced: ['in sync', 'stimmt überein'],
  waiting: ['waits for the device', 'wartet auf das Gerät'],
  review: ['Review {n} change | Review {n} changes', '{n} Änderung prüfen | {n} Änderungen prüfen'],
  drop: ['Drop them', 'Verwerfen'],
  arrived: [
    'Version {version} arrived: {n} leaf changed, {mine}. | Version {version} arrived: {n} leaves changed, {mine}.',
    'Version {version} ist da: {n} Blatt geändert, {mine}. | Version {version} ist da: {n} Blätter geändert, {mine}.',
  ],
  noneOfYours: ['none of yours', 'keines von Ihren'],
  someOfYours: ['{n} of yours', 'davon {n} von Ihren'],
  readOnly: [
    'Operators and admins change the desired state; your role is viewer.',
    'Den gewünschten Stand ändern Operatoren und Admins; Ihre Rolle ist viewer.',
  ],
  returns: [
    'The device is offline. Changes are applied when it returns; last seen',
    'Das Gerät ist offline. Änderungen gelten, sobald es zurück ist; zuletzt gehört',
  ],
})

const VIEWS = ['all', 'differences', 'json', 'history'] as const
const view = queryValue('show', oneOf(VIEWS, 'all'))

export default function ShadowTab({ device }: TabProps) {
  const { device_id: deviceId } = device
  const answer = useAnswer('getShadow', { device_id: deviceId })
  useLiveAnswers({ channel: 'shadows', filter: { device_id: deviceId } }, ['getShadow', 'getShadowHistory'])
  const [edits, setEdits] = useState<readonly Edit[]>([])
  const [base, setBase] = useState<Base | undefined>(undefined)
  const [isReviewed, setReviewed] = useState(false)
  const shadow = answer.data
  const now: Base | undefined = shadow && { version: shadow.version, desired: shadow.desired as JsonObject }
  useEffect(() => {
    if (edits.length === 0) setBase(undefined)
  }, [edits.length])
  const isReadOnly = !may('setDesiredState') || device.status === 'decommissioned'
  const several = (list: readonly Edit[], on = now) => {
    setBase((before) => before ?? on)
    setEdits((before) => list.reduce(withEdit, before))
  }
  const edit = (next: Edit) => several([next])
  return (
    <div class="stack">
      <AnswerArea answer={answer}>
        {(document) => (
          <div class="stack">
            <div class="shadow-head">
              <SelectField
                label={t('show')}
                value={view.value}
                options={VIEWS.map((name) => [name, t(name)] as const)}
                onValue={(name) => view.set(name)}
              />
              <p>
                <strong>{t('version', { n: document.version })}</strong>{' '}
                <span class={document.in_sync ? 'status-online' : 'severity-warning'}>
                  {document.in_sync ? `✓ ${t('synced')}` : `◔ ${t('waiting')}`}
                </span>{' '}
                <span class="muted">
                  <Age at={document.updated_at} />
                </span>
              </p>
              {edits.length > 0 && (
                <div class="row shadow-actions">
                  <Button onClick={() => setEdits([])}>{t('drop')}</Button>
                  <Button kind="primary" icon="check" onClick={() => setReviewed(true)}>
                    {t('review', { n: edits.length })}
                  </Button>
                </div>
              )}
            </div>
            {base !== undefined && now !== undefined && base.version !== now.version && (
              <Arrived base={base} now={now} edits={edits} />
            )}
            {!may('setDesiredState') && <p class="hint">{t('readOnly')}</p>}
            {!device.connectivity.connected && device.status !== 'decommissioned' && (
              <p class="hint">
                {t('returns')} <Age at={device.last_seen_at} />
              </p>
            )}
            {view.value === 'history' ? (
              <>
                {document.version > 0 && (
                  <ShadowVersions document={document} onEdits={isReadOnly ? undefined : several} />
                )}
                <ShadowHistory
                  deviceId={deviceId}
                  desired={document.desired as JsonObject}
                  onEdits={isReadOnly ? undefined : several}
                />
              </>
            ) : view.value === 'json' ? (
              <ShadowJson
                document={document}
                onEdits={isReadOnly ? undefined : several}
                hasEdits={edits.length > 0}
              />
            ) : (
              <>
                {Object.keys(document.desired).length + Object.keys(document.reported).length === 0 && (
                  <ShadowEmpty deviceId={deviceId} />
                )}
                <ShadowTable
                  document={document}
                  edits={edits}
                  onlyDifferences={view.value === 'differences'}
                  onEdit={isReadOnly ? undefined : edit}
                  onUndo={(path) => setEdits((before) => withoutEdit(before, path))}
                />
              </>
            )}
            {isReviewed && base !== undefined && now !== undefined && (
              <ReviewDialog
                deviceId={deviceId}
                base={base}
                edits={edits}
                onEdits={(next, on) => {
                  setEdits(next)
                  setBase(on)
                }}
                onClose={() => setReviewed(false)}
                onSent={() => {
                  setEdits([])
                  setReviewed(false)
                }}
              />
            )}
          </div>
        )}
      </AnswerArea>
    </div>
  )
}

function Arrived({
  base,
  now,
  edits,
}: {
  readonly base: Base
  readonly now: Base
  readonly edits: readonly Edit[]
}) {
  const merge = threeWay(base.desired, now.desired, edits)
  const mine = merge.conflicts.length
  return (
    <p class="banner" role="status">
      {t('arrived', {
        version: now.version,
        n: merge.others.length + merge.fulfilled.length + mine,
        mine: mine === 0 ? t('noneOfYours') : t('someOfYours', { n: mine }),
      })}
    </p>
  )
}
