// What a rollout would do, step by step, before it is started.
import { localMs } from '../../words/local-time.ts'
import { duration, instant } from '../../words/time.ts'
import { number, words } from '../../words/words.ts'
import type { RolloutDraft } from './rollout-draft.ts'

const t = words({
  review: [
    '{version} goes to {n} device of {target}. | {version} goes to {n} devices of {target}.',
    '{version} geht an {n} Gerät von {target}. | {version} geht an {n} Geräte von {target}.',
  ],
  title: ['What would happen', 'Was geschehen würde'],
  now: ['It starts immediately.', 'Er beginnt sofort.'],
  later: ['It starts at {at}.', 'Er beginnt am {at}.'],
  windows: [
    'Devices start only within {n} time window. | Devices start only within {n} time windows.',
    'Geräte beginnen nur in {n} Zeitfenster. | Geräte beginnen nur in {n} Zeitfenstern.',
  ],
  few: [
    '{n} device gets it first. | {n} devices get it first.',
    '{n} Gerät erhält es zuerst. | {n} Geräte erhalten es zuerst.',
  ],
  soak: ['Then it waits for {time}.', 'Danach wird {time} gewartet.'],
  rest: [
    '{n} device follows, at most {slots} at a time. | {n} devices follow, at most {slots} at a time.',
    '{n} Gerät folgt, höchstens {slots} zugleich. | {n} Geräte folgen, höchstens {slots} zugleich.',
  ],
  together: [
    '{n} device gets it at once. | {n} devices get it at once.',
    '{n} Gerät erhält es auf einmal. | {n} Geräte erhalten es auf einmal.',
  ],
  abort: [
    'It aborts once {share} of the finished devices have failed.',
    'Er endet von selbst, sobald {share} der fertigen Geräte fehlgeschlagen sind.',
  ],
})

export function RolloutPlan({
  draft,
  accepted,
  version,
  target,
}: {
  readonly draft: RolloutDraft
  readonly accepted: number
  readonly version: string
  /** What was aimed at, in words. */
  readonly target: string
}) {
  const { strategy, percent, soakMin, slots, failures, startAt, windows } = draft
  const first = strategy === 'canary' ? Math.min(accepted, Math.ceil((accepted * Number(percent)) / 100)) : 0
  const steps = [
    startAt === '' ? t('now') : t('later', { at: instant(localMs(startAt)) }),
    ...(windows.length === 0 ? [] : [t('windows', { n: windows.length })]),
    ...(strategy === 'canary'
      ? [t('few', { n: first }), t('soak', { time: duration(Number(soakMin) * 60_000) })]
      : []),
    strategy === 'all'
      ? t('together', { n: accepted })
      : t('rest', { n: accepted - first, slots: Number(slots) }),
    t('abort', { share: number(Number(failures) / 100, { style: 'percent' }) }),
  ]
  return (
    <section class="card">
      <h2>{t('title')}</h2>
      <p>
        <strong>{t('review', { version, n: accepted, target })}</strong>
      </p>
      <ol class="steps">
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </section>
  )
}
