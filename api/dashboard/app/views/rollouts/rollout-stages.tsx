// The stages of a rollout: how far each is, how long it still waits, and what has to hold before it goes on.
import { Age } from '../../parts/age.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { duration, now } from '../../words/time.ts'
import { number, words } from '../../words/words.ts'
import type { Deployment } from './progress-bar.tsx'

const t = words({
  stages: ['Stages', 'Stufen'],
  stage: ['Stage {n}', 'Stufe {n}'],
  soaks: ['soaks for {time} more', 'wartet noch {time}'],
  soak: ['then soaks for {time}', 'wartet danach {time}'],
  gate: ['Continues if', 'Geht weiter, wenn'],
  met: ['met', 'erfüllt'],
  unmet: ['not met', 'nicht erfüllt'],
  open: ['checked at the end of the stage', 'wird am Ende der Stufe beurteilt'],
  success_percent: ['at least {n} % succeeded', 'mindestens {n} % erfolgreich sind'],
  max_offline: [
    'at most {n} of its devices is offline | at most {n} of its devices are offline',
    'höchstens {n} ihrer Geräte offline ist | höchstens {n} ihrer Geräte offline sind',
  ],
  in_error: [
    'at most {n} of its devices is in error | at most {n} of its devices are in error',
    'höchstens {n} ihrer Geräte im Fehler ist | höchstens {n} ihrer Geräte im Fehler sind',
  ],
  critical: ['no critical alert fired', 'kein kritischer Alarm ausgelöst hat'],
  warning: ['no alert of warning or worse fired', 'kein Alarm ab Warnung ausgelöst hat'],
  metric: ['{agg} of {metric} is {op} {value}', '{agg} von {metric} {op} {value} ist'],
  metricBefore: [
    '{agg} of {metric} is {op} {value} times what it was before',
    '{agg} von {metric} {op} das {value}-fache von vorher ist',
  ],
  approval: ['it is approved', 'jemand freigibt'],
})

type Stage = Deployment['stages'][number]

export function Stages({ deployment: { stages, stage } }: { readonly deployment: Deployment }) {
  return (
    <section class="card">
      <h2>{t('stages')}</h2>
      <ol class="stack">
        {stages.map((one) => (
          <li
            key={one.index}
            aria-current={one.index === stage ? 'step' : undefined}
            class={one.index === stage ? undefined : 'muted'}
          >
            <strong>{t('stage', { n: one.index + 1 })}</strong> {stateWord(one.state)} ·{' '}
            {number(one.succeeded)}/{number(one.total)}
            {one.failed > 0 && <span class="severity-critical"> ✕ {number(one.failed)}</span>} ·{' '}
            <Age at={one.since} /> <Soak stage={one} />
            <Conditions stage={one} />
          </li>
        ))}
      </ol>
    </section>
  )
}

function Soak({ stage: { state, since, soak_sec } }: { readonly stage: Stage }) {
  if (soak_sec === undefined || soak_sec === 0) return null
  if (state === 'waiting' || state === 'running')
    return <>· {t('soak', { time: duration(soak_sec * 1000) })}</>
  if (state !== 'soaking') return null
  const leftMs = Date.parse(since) + soak_sec * 1000 - now.value
  return <strong>· {t('soaks', { time: duration(Math.max(0, leftMs)) })}</strong>
}

function Conditions({ stage }: { readonly stage: Stage }) {
  const conditions = conditionsOf(stage)
  if (conditions.length === 0) return null
  const { state } = stage
  const [glyph, said] =
    state === 'passed'
      ? (['✓', 'met'] as const)
      : state === 'failed'
        ? (['✕', 'unmet'] as const)
        : (['○', 'open'] as const)
  return (
    <div class="hint">
      {t('gate')} <span>({t(said)})</span>
      <ul>
        {conditions.map((condition) => (
          <li key={condition}>
            <span aria-hidden="true">{conditions.length === 1 || state !== 'failed' ? glyph : '·'}</span>{' '}
            {condition}
          </li>
        ))}
      </ul>
    </div>
  )
}

interface GateMetric {
  readonly metric: string
  readonly agg?: string
  readonly op: string
  readonly value: number
  readonly relative_to?: 'before' | null
}

/** What the service judges, in words. The gate is the body that the deployment was made with. */
function conditionsOf({ success_percent, gate = {}, approval }: Stage): readonly string[] {
  const { max_offline, in_error, alerts, metrics } = gate as {
    readonly max_offline?: number
    readonly in_error?: number
    readonly alerts?: 'critical' | 'warning' | null
    readonly metrics?: readonly GateMetric[]
  }
  return [
    ...(success_percent == null ? [] : [t('success_percent', { n: success_percent })]),
    ...(max_offline === undefined ? [] : [t('max_offline', { n: max_offline })]),
    ...(in_error === undefined ? [] : [t('in_error', { n: in_error })]),
    ...(alerts == null ? [] : [t(alerts)]),
    ...(metrics ?? []).map(({ metric, agg = 'avg', op, value, relative_to }) =>
      t(relative_to === 'before' ? 'metricBefore' : 'metric', { agg, metric, op, value }),
    ),
    ...(approval === true ? [t('approval')] : []),
  ]
}
