// One message to one channel: what it says about which alerts, before it takes the form of a channel.
import type { Millis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AlertSeverity, DeliveryEvent } from '../../../schemas/vocabulary.ts'
import { own } from '../shadow/json-object.ts'
import { cut } from './cut.ts'
import type { NoticeDevice, NoticeEvent } from './notice.ts'
import type { TemplateValues } from './template.ts'

/** An alert as a message names it. */
export interface MessageAlert {
  readonly event: NoticeEvent
  readonly ruleId: string
  readonly ruleName: string
  readonly severity: AlertSeverity
  readonly message: string
  /** The alert as REST shows it, with its `link`. */
  readonly alert: JsonObject
  readonly device: (NoticeDevice & { readonly link: string }) | undefined
}

export interface RuleCount {
  readonly name: string
  readonly fired: number
  readonly resolved: number
}

export interface AlertMessage {
  readonly notificationId: string
  readonly event: DeliveryEvent
  readonly at: Millis
  /** The first alerts; never empty. */
  readonly told: readonly [MessageAlert, ...MessageAlert[]]
  /** All alerts, also those that are not named. */
  readonly total: number
  readonly severity: AlertSeverity
  readonly rules: readonly RuleCount[]
}

const RULES_NAMED_MAX = 20
const NAME_CHARS_MAX = 128

/** What happened, in a line. */
export function headline({ event, told, total, severity, rules }: AlertMessage): string {
  const [first] = told
  if (event === 'digest') return `${total} alerts in one message, because there are too many for one each`
  const where =
    total === 1 ? `${first.ruleName} on ${subjectOf(first)}` : `${total} alerts: ${namesOf(rules)}`
  switch (event) {
    case 'fired':
      return `${severity.toUpperCase()}: ${where}`
    case 'repeat':
      return `Still firing, ${severity}: ${where}`
    case 'escalated':
      return `Not acknowledged, ${severity}: ${where}`
    case 'resolved':
      return `Resolved: ${where}`
    case 'test':
      return `TEST: ${where}`
  }
}

/** A line per alert, or per rule in a digest, and how many are left out. */
export function bodyLines({ event, told, total, rules }: AlertMessage): readonly string[] {
  if (event === 'digest') {
    const named = rules.slice(0, RULES_NAMED_MAX)
    const lines = named.map(
      ({ name, fired, resolved }) => `${cut(name, NAME_CHARS_MAX)}: ${fired} fired, ${resolved} resolved`,
    )
    return withRemainder(lines, rules.length - named.length, 'rules')
  }
  return withRemainder(told.map(lineOf), total - told.length, '')
}

/** The facts about the first alert that every format shows. */
export function factsOf({
  told: [first],
}: AlertMessage): readonly { readonly name: string; readonly value: string }[] {
  const { alert, device, severity } = first
  const facts = [
    { name: 'Device', value: subjectOf(first) },
    { name: 'Alert', value: textOf(alert, 'type') },
    { name: 'Value', value: textOf(alert, 'value') },
    { name: 'Threshold', value: textOf(alert, 'threshold') },
    { name: 'Severity', value: severity },
    { name: 'Group', value: device?.group ?? '' },
  ]
  return facts.filter(({ value }) => value !== '')
}

export function linkOf({ alert }: MessageAlert): string {
  return textOf(alert, 'link')
}

export function templateValuesOf({ event, told: [first], total }: AlertMessage): TemplateValues {
  const { alert, device, message, ruleId, ruleName } = first
  return {
    alert,
    event,
    message,
    link: linkOf(first),
    device: {
      id: device?.id ?? '',
      name: device?.name ?? '',
      type: device?.type ?? '',
      group: device?.group ?? '',
      link: device?.link ?? '',
    },
    rule: { id: ruleId, name: ruleName },
    total,
  }
}

function lineOf(named: MessageAlert): string {
  const { alert, event, message } = named
  if (event !== 'resolved') return message
  const times = [`fired ${minuteOf(alert, 'fired_at')}`, `resolved ${minuteOf(alert, 'resolved_at')}`]
  return `${message} (${times.join(', ')} UTC)`
}

function subjectOf({ device, alert }: MessageAlert): string {
  return device?.name || device?.id || textOf(alert, 'group') || 'the fleet'
}

function namesOf(rules: readonly RuleCount[]): string {
  const [first = { name: '' }, ...others] = rules
  return others.length === 0 ? first.name : `${first.name} and ${others.length} more rules`
}

function withRemainder(lines: readonly string[], count: number, noun: string): readonly string[] {
  return count > 0 ? [...lines, `and ${count} more${noun === '' ? '' : ` ${noun}`}`] : lines
}

function textOf(alert: JsonObject, field: string): string {
  const value = own(alert, field)
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** `14:02` of an ISO time. */
function minuteOf(alert: JsonObject, field: string): string {
  return textOf(alert, field).slice(11, 16) || '?'
}
