// The fields of a rule that most rules have. A condition of another kind is edited as JSON.
import type { Condition } from '../../../../../schemas/alert-condition.ts'
import type { RuleWishBody } from '../../../../../schemas/alert-rule.ts'
import { ALERT_SEVERITIES, COMPARISONS, DEVICE_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { Field } from '../../parts/field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { severityWord } from '../../parts/severity-mark.tsx'
import { statusWord } from '../../parts/status-mark.tsx'
import { words } from '../../words/words.ts'
import { conditionText } from './rule-words.ts'

const t = words({
  name: ['Name', 'Name'],
  severity: ['Severity', 'Schwere'],
  where: ['Devices', 'Geräte'],
  which: ['Which', 'Welche'],
  all: ['all', 'alle'],
  group: ['a group', 'eine Gruppe'],
  tag: ['a tag', 'ein Tag'],
  type: ['a type', 'ein Typ'],
  device: ['one device', 'ein Gerät'],
  kind: ['When', 'Wenn'],
  threshold: ['a value passes a threshold', 'ein Wert eine Schwelle überschreitet'],
  absence: ['nothing is heard', 'nichts zu hören ist'],
  state: ['the status is', 'der Status ist'],
  rate: ['a value changes fast', 'sich ein Wert schnell ändert'],
  command_failed: ['a command fails', 'ein Befehl fehlschlägt'],
  other: ['as written: {what}', 'wie geschrieben: {what}'],
  metric: ['Metric', 'Messwert'],
  op: ['Compared', 'Vergleich'],
  value: ['Value', 'Wert'],
  clear: ['Well again at', 'Wieder gut bei'],
  perSec: ['Per second', 'Je Sekunde'],
  window: ['Over (seconds)', 'Über (Sekunden)'],
  silent: ['For (seconds)', 'Seit (Sekunden)'],
  command: ['Command', 'Befehl'],
  anyCommand: ['Empty: any command', 'Leer: jeder Befehl'],
  forSec: ['Only after (seconds)', 'Erst nach (Sekunden)'],
  forHint: [
    'How long it must last before the alert fires.',
    'Wie lange es andauern muss, bevor der Alarm auslöst.',
  ],
})

export interface RuleFormProps {
  readonly rule: RuleWishBody
  readonly onRule: (rule: RuleWishBody) => void
  readonly error: unknown
}

const KINDS = ['threshold', 'absence', 'state', 'rate', 'command_failed'] as const
type Kind = (typeof KINDS)[number]
const FRESH: Readonly<Record<Kind, Condition>> = {
  threshold: { kind: 'threshold', metric: '', op: '>', value: 0 },
  absence: { kind: 'absence', for_sec: 300 },
  state: { kind: 'state', in: ['offline'] },
  rate: { kind: 'rate', metric: '', op: '>', per_sec: 1, window_sec: 60 },
  command_failed: { kind: 'command_failed' },
}
const TARGETS = ['all', 'group', 'tag', 'type', 'device'] as const

export function RuleForm({ rule, onRule, error }: RuleFormProps) {
  const { condition, target } = rule
  const set = (changes: Partial<RuleWishBody>) => onRule({ ...rule, ...changes })
  const kind = KINDS.find((name) => 'kind' in condition && condition.kind === name)
  const targetType = TARGETS.find((name) => name === target.type)
  return (
    <div class="cards">
      <section class="card">
        <Field
          label={t('name')}
          required
          maxLength={128}
          value={rule.name}
          onValue={(name) => set({ name })}
          error={error}
          pointer="/name"
        />
        <SelectField
          label={t('severity')}
          options={ALERT_SEVERITIES.map((word) => [word, severityWord(word)] as const)}
          value={rule.severity ?? 'warning'}
          onValue={(severity) => set({ severity })}
        />
        <SelectField
          label={t('where')}
          options={[
            ...TARGETS.map((word) => [word, t(word)] as const),
            ...(targetType === undefined ? [['other', target.type] as const] : []),
          ]}
          value={targetType ?? 'other'}
          onValue={(type) => {
            if (type !== 'other') set({ target: type === 'all' ? { type } : { type, value: '' } })
          }}
        />
        {targetType !== undefined && targetType !== 'all' && (
          <Field
            label={t('which')}
            required
            value={String(target.value ?? '')}
            onValue={(value) => set({ target: { type: targetType, value } })}
            error={error}
            pointer="/target/value"
          />
        )}
      </section>
      <section class="card">
        <SelectField
          label={t('kind')}
          options={[
            ...KINDS.map((word) => [word, t(word)] as const),
            ...(kind === undefined
              ? [['other', t('other', { what: conditionText(condition) })] as const]
              : []),
          ]}
          value={kind ?? 'other'}
          onValue={(next) => {
            if (next !== 'other') set({ condition: FRESH[next] })
          }}
        />
        <ConditionFields
          condition={condition}
          onCondition={(next) => set({ condition: next })}
          error={error}
        />
        <Field
          label={t('forSec')}
          hint={t('forHint')}
          type="number"
          min={0}
          value={String(rule.for_sec ?? 0)}
          onValue={(value) => set({ for_sec: Number(value) })}
          error={error}
          pointer="/for_sec"
        />
      </section>
    </div>
  )
}

interface ConditionFieldsProps {
  readonly condition: Condition
  readonly onCondition: (condition: Condition) => void
  readonly error: unknown
}

function ConditionFields({ condition, onCondition, error }: ConditionFieldsProps) {
  if (!('kind' in condition)) return null
  switch (condition.kind) {
    case 'threshold':
      return (
        <>
          <Field
            label={t('metric')}
            required
            placeholder="battery.percent"
            value={condition.metric}
            onValue={(metric) => onCondition({ ...condition, metric })}
            error={error}
            pointer="/condition/metric"
          />
          <SelectField
            label={t('op')}
            options={COMPARISONS.map((op) => [op, op] as const)}
            value={condition.op}
            onValue={(op) => onCondition({ ...condition, op })}
          />
          <Field
            label={t('value')}
            required
            value={String(condition.value)}
            onValue={(value) => onCondition({ ...condition, value: numberOr(value) })}
            error={error}
            pointer="/condition/value"
          />
          <Field
            label={t('clear')}
            type="number"
            step="any"
            value={String(condition.clear_value ?? '')}
            onValue={(value) => {
              const { clear_value: _, ...others } = condition
              onCondition(value === '' ? others : { ...others, clear_value: Number(value) })
            }}
            error={error}
            pointer="/condition/clear_value"
          />
        </>
      )
    case 'absence':
      return (
        <>
          <Field
            label={t('metric')}
            value={condition.metric ?? ''}
            onValue={(metric) =>
              onCondition({
                kind: 'absence',
                for_sec: condition.for_sec,
                ...(metric === '' ? {} : { metric }),
              })
            }
          />
          <Field
            label={t('silent')}
            type="number"
            min={1}
            required
            value={String(condition.for_sec)}
            onValue={(value) => onCondition({ ...condition, for_sec: Number(value) })}
          />
        </>
      )
    case 'state':
      return (
        <fieldset class="chips">
          <legend>{t('state')}</legend>
          {DEVICE_STATUSES.map((status) => {
            const chosen = condition.in ?? []
            const isOn = chosen.includes(status)
            return (
              <button
                key={status}
                type="button"
                class="chip chip-choice"
                aria-pressed={isOn}
                onClick={() =>
                  onCondition({
                    ...condition,
                    in: isOn ? chosen.filter((other) => other !== status) : [...chosen, status],
                  })
                }
              >
                {statusWord(status)}
              </button>
            )
          })}
        </fieldset>
      )
    case 'rate':
      return (
        <>
          <Field
            label={t('metric')}
            required
            value={condition.metric}
            onValue={(metric) => onCondition({ ...condition, metric })}
          />
          <Field
            label={t('perSec')}
            type="number"
            step="any"
            value={String(condition.per_sec)}
            onValue={(value) => onCondition({ ...condition, per_sec: Number(value) })}
          />
          <Field
            label={t('window')}
            type="number"
            min={1}
            value={String(condition.window_sec)}
            onValue={(value) => onCondition({ ...condition, window_sec: Number(value) })}
          />
        </>
      )
    case 'command_failed':
      return (
        <Field
          label={t('command')}
          hint={t('anyCommand')}
          value={condition.command ?? ''}
          onValue={(command) =>
            onCondition({ kind: 'command_failed', ...(command === '' ? {} : { command }) })
          }
        />
      )
    default:
      return null
  }
}

/** A threshold may be a text or true or false, too. */
function numberOr(text: string): number | string | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  return text.trim() !== '' && Number.isFinite(Number(text)) && !text.endsWith('.') ? Number(text) : text
}
