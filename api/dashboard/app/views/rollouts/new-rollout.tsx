// A new deployment: what, where, how, and then a look at whom it would reach before anything is sent (D6).

import { useMemo, useState } from 'preact/hooks'
import type { DeploymentRequestBody } from '../../../../../schemas/deployment.ts'
import type { TargetPreview } from '../../../../../schemas/target-preview.ts'
import { text } from '../../address/codecs.ts'
import { pathOf } from '../../address/routes.ts'
import { splitList } from '../../address/split-list.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet, RefusalError } from '../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../data/writes.ts'
import { navigate, queryValue } from '../../navigation/navigation.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { boundFields } from '../../parts/bound-fields.ts'
import { Button } from '../../parts/button.tsx'
import { CheckField } from '../../parts/check-field.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Field } from '../../parts/field.tsx'
import { Page } from '../../parts/page.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { PreviewCounts } from '../../parts/preview-counts.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { submits } from '../../parts/submits.ts'
import { filterTarget, targetKind, targetNames } from '../../parts/target.ts'
import { TargetChanged } from '../../parts/target-changed.tsx'
import { TargetFields } from '../../parts/target-fields.tsx'
import { targetText } from '../../parts/target-text.ts'
import { words } from '../../words/words.ts'
import { FIRST_DRAFT, type RolloutDraft, STRATEGIES, toRequest } from './rollout-draft.ts'
import { RolloutPlan } from './rollout-plan.tsx'
import { ScheduleFields } from './schedule-fields.tsx'

const t = words({
  name: ['Name (optional)', 'Name, falls er einen hat'],
  how: ['How', 'Wie'],
  canary: ['canary: first a few, then the rest', 'erst wenige, dann der Rest'],
  rolling: ['rolling: some at a time', 'einige zugleich'],
  allAtOnce: ['all at once', 'alle auf einmal'],
  percent: ['Canary share (%)', 'Die wenigen, in Prozent'],
  soak: ['Soak time (minutes)', 'Danach warten (Minuten)'],
  slots: ['Devices at a time', 'Höchstens zugleich'],
  abort: ['Abort at failures of (%)', 'Von selbst enden bei diesem Anteil Fehlschläge (%)'],
  rollback: ['Roll failed devices back', 'Fehlgeschlagene Geräte zurücksetzen'],
  look: ['Preview', 'Ansehen, wen es erreicht'],
  start: ['Update {n} device | Update {n} devices', '{n} Gerät aktualisieren | {n} Geräte aktualisieren'],
  schedule: [
    'Schedule the update of {n} device | Schedule the update of {n} devices',
    'Aktualisierung von {n} Gerät planen | Aktualisierung von {n} Geräten planen',
  ],
  none: ['No image to roll out', 'Es gibt kein Abbild zum Ausrollen'],
  toImages: ['Upload an image', 'Eines hochladen'],
  toList: ['All images', 'Alle Abbilder'],
  newest: [
    'The newest {n} of {total} images are offered. The list of images leads here with any of them.',
    'Zur Wahl stehen die neuesten {n} von {total} Abbildern. Die Liste der Abbilder führt mit jedem hierher.',
  ],
})

const firmwareValue = queryValue('firmware', text())
const TARGETS = ['group', 'tag', 'type', 'devices', 'filter', 'all'] as const

export default function NewRollout() {
  const images = useAnswer('listFirmware', { query: { status: 'available', per_page: 200 } })
  const firmware_id = firmwareValue.value
  const isListed =
    firmware_id === '' || images.data?.data.some((image) => image.firmware_id === firmware_id) !== false
  // The address may name one that is older than those of the list.
  const named = useAnswer('getFirmware', { firmware_id }, { isWanted: !isListed })
  return (
    <Page title={t('newRollout')} needs="createDeployment">
      <AnswerArea answer={images}>
        {({ data, total }) =>
          !isListed && named.data === undefined ? (
            <AnswerArea answer={named}>{() => null}</AnswerArea>
          ) : data.length === 0 && isListed ? (
            <Empty title={t('none')}>
              <a href={pathOf('firmware')}>{t('toImages')}</a>
            </Empty>
          ) : (
            <>
              {total > data.length && (
                <p class="hint">
                  {t('newest', { n: data.length, total })} <a href={pathOf('firmware')}>{t('toList')}</a>
                </p>
              )}
              <Form images={isListed || named.data === undefined ? data : [named.data, ...data]} />
            </>
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

interface ReviewedRollout {
  /** What the address named and the form had. */
  readonly of: string
  readonly request: DeploymentRequestBody
  readonly preview: TargetPreview
  /** What was seen before, if the target has changed since. */
  readonly before?: TargetPreview
}

function Form({ images }: { readonly images: readonly Image[] }) {
  const firmware_id = images.some((image) => image.firmware_id === firmwareValue.value)
    ? firmwareValue.value
    : (images[0]?.firmware_id ?? '')
  const version = images.find((image) => image.firmware_id === firmware_id)?.version ?? ''
  const [draft, setDraft] = useState(FIRST_DRAFT)
  const [lookedLast, setLooked] = useState<ReviewedRollout | undefined>(undefined)
  const [kind, which] = [targetKind(TARGETS), targetNames.value]
  const of = JSON.stringify([firmware_id, kind, which, draft])
  // The address may have changed since, also while the answer was under way.
  const looked = lookedLast?.of === of ? lookedLast : undefined
  const preview = looked?.preview
  // Another look is another request; the same one sent again is the same.
  const key = useMemo(newIdempotencyKey, [JSON.stringify(looked)])
  const request = toRequest(draft, { firmware_id, target: targetOf(kind, which) })
  // What was looked at is no longer what would be sent.
  const again = () => setLooked(undefined)
  const change = (changes: Partial<RolloutDraft>) => {
    setDraft({ ...draft, ...changes })
    again()
  }
  const look = useWrite(async () => {
    const found = await fleet.createDeployment({ body: request, query: { dry_run: true } })
    if ('by_status' in found) setLooked({ of, request, preview: found })
  })
  const start = useWrite(async () => {
    if (looked === undefined) return
    const body = { ...looked.request, expected_total: looked.preview.total }
    const started = await fleet
      .createDeployment({ body, idempotencyKey: key })
      .catch(async (error: unknown) => {
        if (!(error instanceof RefusalError) || error.code !== 'TARGET_CHANGED') throw error
        // Nothing was started: the look comes back, with what changed since.
        const found = await fleet.createDeployment({ body: request, query: { dry_run: true } })
        if ('by_status' in found) setLooked({ of, request, preview: found, before: looked.preview })
        return found
      })
    refreshAnswers('listDeployments')
    if ('deployment_id' in started) navigate(pathOf('rollout', { deployment_id: started.deployment_id }))
  })
  const error = start.error.value ?? look.error.value
  const field = boundFields(draft, change, error)
  return (
    <form class="stack" onSubmit={submits(() => (preview === undefined ? look.run() : start.run()))}>
      <div class="cards">
        <section class="card">
          <h2>{t('what')}</h2>
          <SelectField
            label={t('image')}
            options={images.map(
              (image) => [image.firmware_id, `${image.version} · ${image.device_type}`] as const,
            )}
            value={firmware_id}
            onValue={(id) => {
              firmwareValue.set(id)
              again()
            }}
          />
          <Field label={t('name')} maxLength={128} {...field('name')} />
        </section>
        <section class="card">
          <h2>{t('where')}</h2>
          <TargetFields kinds={TARGETS} onChange={again} error={error} />
        </section>
        <StrategyFields draft={draft} onChange={change} error={error} />
        <ScheduleFields draft={draft} onChange={change} error={error} />
      </div>
      {looked?.before !== undefined && <TargetChanged before={looked.before} now={looked.preview} />}
      {looked !== undefined && preview !== undefined && (
        <div class="cards">
          <PreviewCounts preview={preview} />
          <RolloutPlan
            draft={draft}
            accepted={preview.accepted}
            version={plainText(version)}
            target={targetText(looked.request.target)}
          />
        </div>
      )}
      <ProblemCard error={error} />
      <div class="row">
        {preview === undefined ? (
          <Button kind="primary" type="submit" icon="eye" write={look}>
            {t('look')}
          </Button>
        ) : (
          <Button kind="primary" type="submit" icon="rocket" write={start}>
            {t(draft.startAt === '' ? 'start' : 'schedule', { n: preview.accepted })}
          </Button>
        )}
      </div>
    </form>
  )
}

function targetOf(kind: (typeof TARGETS)[number], names: string): DeploymentRequestBody['target'] {
  if (kind === 'all') return { type: kind }
  if (kind === 'filter') return filterTarget(names)
  return { type: kind, value: kind === 'devices' ? splitList(names) : names }
}

interface StrategyFieldsProps {
  readonly draft: RolloutDraft
  readonly onChange: (changes: Partial<RolloutDraft>) => void
  readonly error: unknown
}

function StrategyFields({ draft, onChange, error }: StrategyFieldsProps) {
  const field = boundFields(draft, onChange, error)
  return (
    <section class="card">
      <h2>{t('how')}</h2>
      <SelectField
        label={t('strategy')}
        options={STRATEGIES.map((word) => [word, t(word === 'all' ? 'allAtOnce' : word)] as const)}
        value={draft.strategy}
        onValue={(strategy) => onChange({ strategy })}
      />
      {draft.strategy === 'canary' && (
        <>
          <Field
            label={t('percent')}
            type="number"
            min={1}
            max={100}
            {...field('percent', '/canary/percent')}
          />
          <Field label={t('soak')} type="number" min={0} {...field('soakMin', '/canary/soak_sec')} />
        </>
      )}
      <Field label={t('slots')} type="number" min={1} max={1000} {...field('slots', '/max_concurrent')} />
      <Field
        label={t('abort')}
        type="number"
        min={1}
        max={100}
        {...field('failures', '/abort/failure_percent')}
      />
      <CheckField
        label={t('rollback')}
        isOn={draft.isRolledBack}
        onValue={(isOn) => onChange({ isRolledBack: isOn })}
      />
    </section>
  )
}
