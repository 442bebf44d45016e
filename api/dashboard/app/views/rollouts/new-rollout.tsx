// A new deployment: what, where, how, and then a look at whom it would reach before anything is sent (D6).
import { useState } from 'preact/hooks'
import type { DeploymentWish } from '../../../../../schemas/deployment.ts'
import type { TargetPreview } from '../../../../../schemas/target-preview.ts'
import { text } from '../../address/codecs.ts'
import { pathOf } from '../../address/routes.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../data/writes.ts'
import { navigate, queryValue } from '../../navigation/navigation.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Field } from '../../parts/field.tsx'
import { Page } from '../../parts/page.tsx'
import { PreviewCounts } from '../../parts/preview-counts.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { words } from '../../words/words.ts'

const t = words({
  title: ['New rollout', 'Neuer Rollout'],
  what: ['What', 'Was'],
  image: ['Image', 'Abbild'],
  where: ['Where', 'Wo'],
  target: ['Devices', 'Geräte'],
  all: ['all', 'alle'],
  group: ['a group', 'eine Gruppe'],
  tag: ['a tag', 'ein Tag'],
  device: ['one device', 'ein Gerät'],
  which: ['Which', 'Welche'],
  how: ['How', 'Wie'],
  strategy: ['Strategy', 'Strategie'],
  canary: ['first a few, then the rest', 'erst wenige, dann der Rest'],
  rolling: ['some at a time', 'einige zugleich'],
  allAtOnce: ['all at once', 'alle auf einmal'],
  percent: ['The few, in percent', 'Die wenigen, in Prozent'],
  soak: ['Wait after them (minutes)', 'Danach warten (Minuten)'],
  slots: ['At a time, at most', 'Höchstens zugleich'],
  abort: [
    'End by itself at this share of failures (%)',
    'Von selbst enden bei diesem Anteil Fehlschläge (%)',
  ],
  rollback: ['Take failed devices back to what they ran', 'Fehlgeschlagene Geräte zurücksetzen'],
  look: ['Look whom it would reach', 'Ansehen, wen es erreicht'],
  start: [
    { one: 'Update {n} device', other: 'Update {n} devices' },
    { one: '{n} Gerät aktualisieren', other: '{n} Geräte aktualisieren' },
  ],
  none: ['There is no image to roll out', 'Es gibt kein Abbild zum Ausrollen'],
  toImages: ['Upload one', 'Eines hochladen'],
})

const firmwareValue = queryValue('firmware', text())
const TARGETS = ['group', 'tag', 'device', 'all'] as const
const STRATEGIES = ['canary', 'rolling', 'all'] as const

export default function NewRollout() {
  const images = useAnswer('listFirmware', { query: { status: 'available', per_page: 200 } })
  return (
    <Page title={t('title')}>
      <AnswerArea answer={images}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t('none')}>
              <a href={pathOf('firmware')}>{t('toImages')}</a>
            </Empty>
          ) : (
            <Form images={data} />
          )
        }
      </AnswerArea>
    </Page>
  )
}

interface Image {
  readonly firmware_id: string
  readonly version: string
  readonly device_type: string
}

function Form({ images }: { readonly images: readonly Image[] }) {
  const firmware_id = images.some((image) => image.firmware_id === firmwareValue.value)
    ? firmwareValue.value
    : (images[0]?.firmware_id ?? '')
  const [targetType, setTargetType] = useState<(typeof TARGETS)[number]>('group')
  const [value, setValue] = useState('')
  const [strategy, setStrategy] = useState<(typeof STRATEGIES)[number]>('canary')
  const [percent, setPercent] = useState('10')
  const [soakMin, setSoakMin] = useState('5')
  const [slots, setSlots] = useState('10')
  const [failures, setFailures] = useState('20')
  const [rollback, setRollback] = useState(true)
  const [preview, setPreview] = useState<TargetPreview | undefined>(undefined)
  const [key, setKey] = useState(newIdempotencyKey)
  const wish: DeploymentWish = {
    firmware_id,
    target: targetType === 'all' ? { type: 'all' } : { type: targetType, value },
    strategy,
    max_concurrent: Number(slots),
    rollback_on_failure: rollback,
    abort: { failure_percent: Number(failures) },
    ...(strategy === 'canary'
      ? { canary: { percent: Number(percent), soak_sec: Math.round(Number(soakMin) * 60) } }
      : {}),
  }
  const change = <Value,>(set: (value: Value) => void) => {
    return (next: Value) => {
      set(next)
      // What was looked at is no longer what would be sent.
      setPreview(undefined)
      setKey(newIdempotencyKey())
    }
  }
  const look = useWrite(async () => {
    const found = await fleet.createDeployment({ body: wish, query: { dry_run: true } })
    if ('by_status' in found) setPreview(found)
  })
  const start = useWrite(async () => {
    const body = { ...wish, ...(preview === undefined ? {} : { expected_total: preview.total }) }
    const started = await fleet.createDeployment({ body, idempotencyKey: key })
    refreshAnswers('listDeployments')
    if ('deployment_id' in started) navigate(pathOf('rollout', { deployment_id: started.deployment_id }))
  })
  const error = start.error.value ?? look.error.value
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void (preview === undefined ? look.run() : start.run())
      }}
    >
      <div class="cards">
        <section class="card">
          <h2>{t('what')}</h2>
          <SelectField
            label={t('image')}
            options={images.map(
              (image) => [image.firmware_id, `${image.version} · ${image.device_type}`] as const,
            )}
            value={firmware_id}
            onValue={change((id: string) => firmwareValue.set(id))}
          />
        </section>
        <section class="card">
          <h2>{t('where')}</h2>
          <SelectField
            label={t('target')}
            options={TARGETS.map((word) => [word, t(word)] as const)}
            value={targetType}
            onValue={change(setTargetType)}
          />
          {targetType !== 'all' && (
            <Field
              label={t('which')}
              required
              value={value}
              onValue={change(setValue)}
              error={error}
              pointer="/target/value"
            />
          )}
        </section>
        <section class="card">
          <h2>{t('how')}</h2>
          <SelectField
            label={t('strategy')}
            options={STRATEGIES.map((word) => [word, t(word === 'all' ? 'allAtOnce' : word)] as const)}
            value={strategy}
            onValue={change(setStrategy)}
          />
          {strategy === 'canary' && (
            <>
              <Field
                label={t('percent')}
                type="number"
                min={1}
                max={100}
                value={percent}
                onValue={change(setPercent)}
                error={error}
                pointer="/canary/percent"
              />
              <Field
                label={t('soak')}
                type="number"
                min={0}
                value={soakMin}
                onValue={change(setSoakMin)}
                error={error}
                pointer="/canary/soak_sec"
              />
            </>
          )}
          <Field
            label={t('slots')}
            type="number"
            min={1}
            max={1000}
            value={slots}
            onValue={change(setSlots)}
            error={error}
            pointer="/max_concurrent"
          />
          <Field
            label={t('abort')}
            type="number"
            min={1}
            max={100}
            value={failures}
            onValue={change(setFailures)}
            error={error}
            pointer="/abort/failure_percent"
          />
          <label class="check">
            <input
              type="checkbox"
              checked={rollback}
              onChange={({ currentTarget }) => change(setRollback)(currentTarget.checked)}
            />
            {t('rollback')}
          </label>
        </section>
      </div>
      {preview !== undefined && <PreviewCounts preview={preview} />}
      {error !== undefined && <ProblemCard error={error} />}
      <div class="row">
        {preview === undefined ? (
          <Button kind="primary" type="submit" icon="eye" isBusy={look.isUnderWay.value}>
            {t('look')}
          </Button>
        ) : (
          <Button kind="primary" type="submit" icon="rocket" isBusy={start.isUnderWay.value}>
            {t('start', { n: preview.accepted })}
          </Button>
        )}
      </div>
    </form>
  )
}
