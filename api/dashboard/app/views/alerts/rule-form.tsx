// The fields of a rule that most rules have. A condition of another kind is edited as JSON.
import type { RuleRequestBody } from '../../../../../schemas/alert-rule.ts'
import { isObject } from '../../../../../schemas/json.ts'
import { ALERT_SEVERITIES } from '../../../../../schemas/vocabulary.ts'
import { Field } from '../../parts/field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { TypedField } from '../../parts/typed-field.tsx'
import { words } from '../../words/words.ts'
import { ConditionFields } from './condition-fields.tsx'

const t = words({
  group: ['a group', 'eine Gruppe'],
  tag: ['a tag', 'ein Tag'],
  type: ['a type', 'ein Typ'],
  device: ['one device', 'ein Gerät'],
  forSec: ['For at least (seconds)', 'Erst nach (Sekunden)'],
  forHint: [
    'How long the condition must hold before the alert fires.',
    'Wie lange es andauern muss, bevor der Alarm auslöst.',
  ],
})

export interface RuleFormProps {
  readonly rule: RuleRequestBody
  readonly onRule: (rule: RuleRequestBody) => void
  readonly error: unknown
}

/** Whether a rule that somebody wrote has all that the form reads. The service judges the rest. */
export function fitsForm(rule: unknown): rule is RuleRequestBody {
  return isObject(rule) && isObject(rule['target']) && isCondition(rule['condition'])
}

function isCondition(condition: unknown): boolean {
  if (!isObject(condition)) return false
  const { all, any, in: statuses } = condition
  return (
    [all, any].every(
      (members) => members === undefined || (Array.isArray(members) && members.every(isCondition)),
    ) &&
    (statuses === undefined || Array.isArray(statuses))
  )
}

const TARGETS = ['all', 'group', 'tag', 'type', 'device'] as const

export function RuleForm({ rule, onRule, error }: RuleFormProps) {
  const { condition, target } = rule
  const set = (changes: Partial<RuleRequestBody>) => onRule({ ...rule, ...changes })
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
          options={ALERT_SEVERITIES.map((word) => [word, stateWord(word)] as const)}
          value={rule.severity ?? 'warning'}
          onValue={(severity) => set({ severity })}
        />
        <SelectField
          label={t('devices')}
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
        <ConditionFields
          condition={condition}
          onCondition={(next) => set({ condition: next })}
          error={error}
          pointer="/condition"
        />
        <TypedField
          label={t('forSec')}
          hint={t('forHint')}
          type="number"
          min={0}
          value={rule.for_sec ?? 0}
          read={Number}
          onRead={(for_sec) => set({ for_sec })}
          error={error}
          pointer="/for_sec"
        />
      </section>
    </div>
  )
}
