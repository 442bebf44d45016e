// When a rollout may begin on a device, and how long each phase may take there.
import { boundFields } from '../../parts/bound-fields.ts'
import { Button } from '../../parts/button.tsx'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import { Field } from '../../parts/field.tsx'
import { localMs } from '../../words/local-time.ts'
import { instant, timeZone } from '../../words/time.ts'
import { locale, words } from '../../words/words.ts'
import { DAYS, PHASES, type RolloutDraft, type WindowDraft } from './rollout-draft.ts'

const t = words({
  start: ['Not before (empty: immediately)', 'Nicht vor (leer: sofort)'],
  windows: ['Start only within', 'Geräte beginnen nur innerhalb von'],
  always: ['Devices start at any time.', 'Geräte beginnen jederzeit.'],
  days: ['Days (none: every day)', 'Tage (keiner: jeden Tag)'],
  from: ['From', 'Ab'],
  hours: ['For hours', 'Stunden lang'],
  add: ['Add a window', 'Zeitfenster hinzufügen'],
  remove: ['Remove window {n}', 'Zeitfenster {n} entfernen'],
  limits: ['Time limit per phase', 'Zeitgrenzen jeder Phase'],
  download: ['Download (minutes)', 'Herunterladen (Minuten)'],
  install: ['Installation (minutes)', 'Installation (Minuten)'],
  reboot: ['Restart (minutes)', 'Neustart (Minuten)'],
  confirm: ['Confirmation (minutes)', 'Bestätigung (Minuten)'],
})

/** The service takes no more. */
const WINDOWS_MAX = 14
/** What the service does where nothing is said. */
const USUAL_MIN = { download: 30, install: 15, reboot: 10, confirm: 5 } as const
/** A Monday. */
const MONDAY_MS = Date.UTC(2024, 0, 1)
const DAY_MS = 86_400_000

const dayName = (index: number) =>
  new Intl.DateTimeFormat(locale(), { weekday: 'short', timeZone: 'UTC' }).format(MONDAY_MS + index * DAY_MS)

export interface ScheduleFieldsProps {
  readonly draft: RolloutDraft
  readonly onChange: (changes: Partial<RolloutDraft>) => void
  readonly error: unknown
}

export function ScheduleFields({ draft, onChange, error }: ScheduleFieldsProps) {
  const { startAt, windows, timeoutsMin } = draft
  const field = boundFields(draft, onChange, error)
  const limit = boundFields(
    timeoutsMin,
    (changes) => onChange({ timeoutsMin: { ...timeoutsMin, ...changes } }),
    error,
  )
  const replace = (at: number, changes: Partial<WindowDraft>) =>
    onChange({ windows: windows.map((window, i) => (i === at ? { ...window, ...changes } : window)) })
  return (
    <section class="card">
      <h2>{t('when')}</h2>
      <Field
        label={t('start')}
        type="datetime-local"
        {...(startAt === '' ? {} : { hint: instant(localMs(startAt)) })}
        {...field('startAt', '/start_at')}
      />
      <p class="muted">{windows.length === 0 ? t('always') : t('windows')}</p>
      {windows.map((window, at) => (
        <WindowFields
          key={at}
          window={window}
          at={at}
          onChange={(changes) => replace(at, changes)}
          error={error}
        >
          <Button
            kind="quiet"
            icon="x"
            label={t('remove', { n: at + 1 })}
            onClick={() => onChange({ windows: windows.filter((_, i) => i !== at) })}
          />
        </WindowFields>
      ))}
      {windows.length < WINDOWS_MAX && (
        <p>
          <Button icon="plus" onClick={() => onChange({ windows: [...windows, nightly()] })}>
            {t('add')}
          </Button>
        </p>
      )}
      <details>
        <summary>{t('limits')}</summary>
        <div class="form-pair">
          {PHASES.map((phase) => (
            <Field
              key={phase}
              label={t(phase)}
              type="number"
              min={1}
              placeholder={String(USUAL_MIN[phase])}
              {...limit(phase, `/timeouts/${phase}_sec`)}
            />
          ))}
        </div>
      </details>
    </section>
  )
}

interface WindowFieldsProps {
  readonly window: WindowDraft
  readonly at: number
  readonly onChange: (changes: Partial<WindowDraft>) => void
  readonly error: unknown
  readonly children: preact.ComponentChildren
}

function WindowFields({ window, at, onChange, error, children }: WindowFieldsProps) {
  const { days } = window
  const field = boundFields(window, onChange, error)
  return (
    <div class="stack window-fields">
      <div class="row">
        <ChoiceChips
          label={t('days')}
          options={DAYS.map((day, index) => [day, dayName(index)] as const)}
          value={{
            value: days,
            set: (chosen) => onChange({ days: DAYS.filter((day) => chosen.includes(day)) }),
          }}
        />
        {children}
      </div>
      <div class="form-pair">
        <Field label={t('from')} type="time" required {...field('start', `/windows/${at}/start`)} />
        <Field
          label={t('hours')}
          type="number"
          required
          min={0.25}
          max={24}
          step={0.25}
          {...field('hours', `/windows/${at}/duration_min`)}
        />
      </div>
      <Field label={t('timeZone')} required spellcheck={false} {...field('tz', `/windows/${at}/tz`)} />
    </div>
  )
}

/** The nights where the person is. */
function nightly(): WindowDraft {
  const tz = timeZone.peek() ?? new Intl.DateTimeFormat().resolvedOptions().timeZone
  return { days: [], start: '22:00', hours: '6', tz }
}
