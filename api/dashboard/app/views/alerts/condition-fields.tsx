// The fields of a condition. Those that join others have the fields of each.

import type { Condition } from '../../../../../schemas/alert-condition.ts'
import { COMPARISONS, DEVICE_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { omitEmpty } from '../../address/omit-empty.ts'
import { Button } from '../../parts/button.tsx'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import { Field } from '../../parts/field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { TypedField } from '../../parts/typed-field.tsx'
import { words } from '../../words/words.ts'
import { conditionText } from './rule-words.ts'

const t = words({
  kind: ['When', 'Wenn'],
  kindOf: ['When ({n})', 'Wenn ({n})'],
  threshold: ['a value crosses a threshold', 'ein Wert eine Schwelle überschreitet'],
  absence: ['no data arrives', 'nichts zu hören ist'],
  state: ['the status is', 'der Status ist'],
  rate: ['a value changes fast', 'sich ein Wert schnell ändert'],
  command_failed: ['a command fails', 'ein Befehl fehlschlägt'],
  deployment_failed: ['a firmware update fails', 'ein Firmware-Update fehlschlägt'],
  all: ['all of these are true', 'alle diese gelten'],
  any: ['any of these is true', 'eines von diesen gilt'],
  other: ['as JSON: {what}', 'wie geschrieben: {what}'],
  add: ['Add condition', 'Bedingung hinzufügen'],
  remove: ['Remove condition {n}', 'Bedingung {n} entfernen'],
  metric: ['Metric', 'Messwert'],
  op: ['Compared', 'Vergleich'],
  clear: ['Clears at', 'Wieder gut bei'],
  perSec: ['Per second', 'Je Sekunde'],
  window: ['Over (seconds)', 'Über (Sekunden)'],
  silent: ['For (seconds)', 'Seit (Sekunden)'],
  anyCommand: ['Empty: any command', 'Leer: jeder Befehl'],
  of: ['Of', 'Von'],
  device: ['one device', 'einem Gerät'],
  deployment: ['a whole rollout', 'einem ganzen Rollout'],
})

const LEAF_KINDS = ['threshold', 'absence', 'state', 'rate', 'command_failed', 'deployment_failed'] as const
const KINDS = [...LEAF_KINDS, 'all', 'any'] as const
type Kind = (typeof KINDS)[number]
const LOW: Condition = { kind: 'threshold', metric: '', op: '>', value: 0 }
const FRESH: Readonly<Record<Kind, Condition>> = {
  threshold: LOW,
  absence: { kind: 'absence', for_sec: 300 },
  state: { kind: 'state', in: ['offline'] },
  rate: { kind: 'rate', metric: '', op: '>', per_sec: 1, window_sec: 60 },
  command_failed: { kind: 'command_failed' },
  deployment_failed: { kind: 'deployment_failed' },
  all: { all: [LOW, { kind: 'state', in: ['online'] }] },
  any: { any: [LOW, { kind: 'state', in: ['offline'] }] },
}

function kindOf(condition: Condition): Kind | undefined {
  if ('all' in condition) return 'all'
  if ('any' in condition) return 'any'
  return 'kind' in condition ? LEAF_KINDS.find((name) => name === condition.kind) : undefined
}

export interface ConditionFieldsProps {
  readonly condition: Condition
  readonly onCondition: (condition: Condition) => void
  readonly error: unknown
  /** Where the condition is in the rule. */
  readonly pointer: string
  /** The place of one that is joined with others, from 1 on. */
  readonly place?: number
}

/** The choice of a kind, and what belongs to it. */
export function ConditionFields(props: ConditionFieldsProps) {
  const { condition, onCondition, place } = props
  const kind = kindOf(condition)
  // One level of joining is a form; deeper ones are written as JSON.
  const kinds = place === undefined ? KINDS : LEAF_KINDS
  return (
    <>
      <SelectField
        label={place === undefined ? t('kind') : t('kindOf', { n: place })}
        options={[
          ...kinds.map((word) => [word, t(word)] as const),
          ...(kind === undefined || !kinds.some((word) => word === kind)
            ? [['other', t('other', { what: conditionText(condition) })] as const]
            : []),
        ]}
        value={kind !== undefined && kinds.some((word) => word === kind) ? kind : 'other'}
        onValue={(next) => {
          if (next !== 'other') onCondition(FRESH[next])
        }}
      />
      {kind === 'all' || kind === 'any' ? <Joined {...props} kind={kind} /> : <LeafFields {...props} />}
    </>
  )
}

function Joined({
  condition,
  onCondition,
  error,
  pointer,
  kind,
}: ConditionFieldsProps & { readonly kind: 'all' | 'any' }) {
  const members = 'all' in condition ? condition.all : 'any' in condition ? condition.any : []
  const join = (next: readonly Condition[]) => onCondition(kind === 'all' ? { all: next } : { any: next })
  return (
    <>
      {members.map((member, at) => (
        // A condition has no id of its own, and its place is what it is known by.
        <fieldset key={`${at}`} class="stack">
          <legend class="visually-hidden">{t('kindOf', { n: at + 1 })}</legend>
          <ConditionFields
            condition={member}
            onCondition={(next) => join(members.map((other, i) => (i === at ? next : other)))}
            error={error}
            pointer={`${pointer}/${kind}/${at}`}
            place={at + 1}
          />
          {members.length > 1 && (
            <p>
              <Button
                kind="quiet"
                icon="x"
                label={t('remove', { n: at + 1 })}
                onClick={() => join(members.filter((_, i) => i !== at))}
              />
            </p>
          )}
        </fieldset>
      ))}
      <p>
        <Button icon="plus" onClick={() => join([...members, LOW])}>
          {t('add')}
        </Button>
      </p>
    </>
  )
}

function LeafFields({ condition, onCondition, error, pointer }: ConditionFieldsProps) {
  if (!('kind' in condition)) return null
  /** Where the service refuses the field of this name. */
  const refused = (name: string) => ({ error, pointer: `${pointer}/${name}` })
  /** What is written in the field of this name becomes a condition by `change`. */
  const bound = (name: string, value: unknown, change: (text: string) => Condition) => ({
    value: String(value ?? ''),
    onValue: (text: string) => onCondition(change(text)),
    ...refused(name),
  })
  switch (condition.kind) {
    case 'threshold':
      return (
        <>
          <Field
            label={t('metric')}
            required
            placeholder="battery.percent"
            {...bound('metric', condition.metric, (metric) => ({ ...condition, metric }))}
          />
          <SelectField
            label={t('op')}
            options={COMPARISONS.map((op) => [op, op] as const)}
            value={condition.op}
            onValue={(op) => onCondition({ ...condition, op })}
          />
          <TypedField
            label={t('value')}
            required
            value={condition.value}
            read={numberOr}
            onRead={(value) => onCondition({ ...condition, value })}
            {...refused('value')}
          />
          <TypedField
            label={t('clear')}
            type="number"
            step="any"
            value={condition.clear_value}
            read={(text) => (text === '' ? undefined : Number(text))}
            onRead={(clear_value) => {
              const { clear_value: _, ...others } = condition
              onCondition(clear_value === undefined ? others : { ...others, clear_value })
            }}
            {...refused('clear_value')}
          />
        </>
      )
    case 'absence':
      return (
        <>
          <Field
            label={t('metric')}
            {...bound('metric', condition.metric, (metric) => ({
              kind: 'absence',
              for_sec: condition.for_sec,
              ...omitEmpty({ metric }),
            }))}
          />
          <TypedField
            label={t('silent')}
            type="number"
            min={1}
            required
            value={condition.for_sec}
            read={Number}
            onRead={(for_sec) => onCondition({ ...condition, for_sec })}
            {...refused('for_sec')}
          />
        </>
      )
    case 'state':
      return (
        <ChoiceChips
          isField
          label={t('state')}
          options={DEVICE_STATUSES.map((status) => [status, stateWord(status)] as const)}
          value={{ value: condition.in ?? [], set: (chosen) => onCondition({ ...condition, in: chosen }) }}
        />
      )
    case 'rate':
      return (
        <>
          <Field
            label={t('metric')}
            required
            {...bound('metric', condition.metric, (metric) => ({ ...condition, metric }))}
          />
          <TypedField
            label={t('perSec')}
            type="number"
            step="any"
            required
            value={condition.per_sec}
            read={Number}
            onRead={(per_sec) => onCondition({ ...condition, per_sec })}
            {...refused('per_sec')}
          />
          <TypedField
            label={t('window')}
            type="number"
            min={1}
            required
            value={condition.window_sec}
            read={Number}
            onRead={(window_sec) => onCondition({ ...condition, window_sec })}
            {...refused('window_sec')}
          />
        </>
      )
    case 'command_failed':
      return (
        <Field
          label={t('command')}
          hint={t('anyCommand')}
          {...bound('command', condition.command, (command) => ({
            kind: 'command_failed',
            ...omitEmpty({ command }),
          }))}
        />
      )
    case 'deployment_failed':
      return (
        <SelectField
          label={t('of')}
          options={(['device', 'deployment'] as const).map((word) => [word, t(word)] as const)}
          value={[condition.of ?? 'device'].flat()[0] ?? 'device'}
          onValue={(of) => onCondition({ kind: 'deployment_failed', of })}
        />
      )
    default:
      return null
  }
}

/** A threshold may be a text or true or false, too. */
function numberOr(text: string): number | string | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}
