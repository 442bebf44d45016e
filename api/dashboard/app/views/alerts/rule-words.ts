// Rules in words, and three that nearly every fleet wants.
import type { Condition } from '../../../../../schemas/alert-condition.ts'
import type { RuleRequestBody } from '../../../../../schemas/alert-rule.ts'
import { duration } from '../../words/time.ts'
import { words } from '../../words/words.ts'

const t = words({
  offline: ['Offline for 5 minutes', 'Seit 5 Minuten offline'],
  battery: ['Battery below 10 %', 'Batterie unter 10 %'],
  command: ['A command failed', 'Ein Befehl schlug fehl'],
  absence: ['no {what} for {time}', 'kein {what} seit {time}'],
  message: ['message', 'Lebenszeichen'],
  and: [' and ', ' und '],
  or: [' or ', ' oder '],
  not: ['not ({what})', 'nicht ({what})'],
  state: ['status is {what}', 'Status ist {what}'],
  lasting: ['{what} for {time}', '{what} seit {time}'],
  range: ['{metric} outside of {min} … {max}', '{metric} außerhalb von {min} … {max}'],
})

export interface ReadyRule {
  readonly id: string
  readonly name: () => string
  readonly rule: RuleRequestBody
}

export const READY_RULES: readonly ReadyRule[] = [
  {
    id: 'offline',
    name: () => t('offline'),
    rule: {
      name: 'offline for 5 min',
      severity: 'critical',
      target: { type: 'all' },
      condition: { kind: 'state', in: ['offline'] },
      for_sec: 300,
      inhibit_when_offline: false,
    },
  },
  {
    id: 'battery',
    name: () => t('battery'),
    rule: {
      name: 'battery below 10 %',
      severity: 'warning',
      target: { type: 'all' },
      condition: { kind: 'threshold', metric: 'battery.percent', op: '<', value: 10, clear_value: 15 },
      for_sec: 60,
    },
  },
  {
    id: 'command',
    name: () => t('command'),
    rule: {
      name: 'command failed',
      severity: 'warning',
      target: { type: 'all' },
      condition: { kind: 'command_failed' },
    },
  },
]

/** When a rule fires, in one line. */
export function ruleText({ condition, for_sec = 0 }: Pick<RuleRequestBody, 'condition' | 'for_sec'>): string {
  const what = conditionText(condition)
  return for_sec === 0 ? what : t('lasting', { what, time: duration(for_sec * 1000) })
}

/** The whole tree in one line. A kind that has no words of its own is shown as it is written. */
export function conditionText(condition: Condition): string {
  if ('all' in condition) return condition.all.map(conditionText).join(t('and'))
  if ('any' in condition) return condition.any.map(conditionText).join(t('or'))
  if ('not' in condition) return t('not', { what: conditionText(condition.not) })
  switch (condition.kind) {
    case 'threshold':
      return `${condition.metric} ${condition.op} ${condition.value}`
    case 'range':
      return t('range', { metric: condition.metric, min: condition.min ?? '−∞', max: condition.max ?? '∞' })
    case 'absence':
      return t('absence', {
        what: condition.metric ?? t('message'),
        time: duration(condition.for_sec * 1000),
      })
    case 'state':
      return t('state', { what: (condition.in ?? []).join(', ') })
    case 'rate':
      return `Δ ${condition.metric} ${condition.op} ${condition.per_sec}/s`
    default: {
      const { kind, ...details } = condition
      const more = Object.entries(details).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
      return [kind.replaceAll('_', ' '), ...more].join(', ')
    }
  }
}
