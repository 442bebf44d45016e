// Templates with `{{name}}`: the messages of rules, and the bodies and subjects of channels. A value is only text: placeholders
// in it are not expanded, and no name gives access to a secret or a setting.
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { own } from '../shadow/json-object.ts'
import { cut } from './cut.ts'

/** What placeholders stand for. The alert is as REST shows it. */
export interface TemplateValues {
  readonly alert: JsonObject
  readonly event: string
  readonly message: string
  readonly link: string
  readonly device: {
    readonly id: string
    readonly name: string
    readonly type: string
    readonly group: string
    readonly link: string
  }
  readonly rule: { readonly id: string; readonly name: string }
  readonly total: number
}

const TEMPLATE_VALUE_CHARS_MAX = 1_024

const ALERT_FIELDS: Readonly<Record<string, string>> = {
  'alert.id': 'alert_id',
  'alert.type': 'type',
  'alert.severity': 'severity',
  'alert.value': 'value',
  'alert.threshold': 'threshold',
  'alert.state': 'state',
  'alert.reason': 'reason',
  'alert.started_at': 'started_at',
  'alert.fired_at': 'fired_at',
  'alert.resolved_at': 'resolved_at',
  'alert.count': 'count',
  value: 'value',
  threshold: 'threshold',
}
const VALUE_READERS: Readonly<Record<string, (values: TemplateValues) => string | number>> = {
  'alert.message': ({ message }) => message,
  'alert.event': ({ event }) => event,
  'alert.link': ({ link }) => link,
  'device.id': ({ device }) => device.id,
  'device.name': ({ device }) => device.name,
  'device.type': ({ device }) => device.type,
  'device.group': ({ device }) => device.group,
  'device.link': ({ device }) => device.link,
  'rule.id': ({ rule }) => rule.id,
  'rule.name': ({ rule }) => rule.name,
  total: ({ total }) => total,
}
const LABEL = /^alert\.labels\.([A-Za-z0-9_.-]{1,128})$/
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g

/** The unknown placeholders of a text. */
export function unknownPlaceholders(text: string): readonly string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name.trim()).filter((name) => !isKnown(name))
}

/** The text with its placeholders filled in. Unknown ones stay as they are. */
export function fillTemplate(
  text: string,
  values: TemplateValues,
  charsMax = TEMPLATE_VALUE_CHARS_MAX,
): string {
  return text.replace(PLACEHOLDER, (whole, name: string) => {
    const trimmed = name.trim()
    return isKnown(trimmed) ? toText(placeholderValue(trimmed, values), charsMax) : whole
  })
}

/** The value of a known name, or undefined if the alert has none. */
export function placeholderValue(name: string, values: TemplateValues): Json | undefined {
  const field = own(ALERT_FIELDS, name)
  if (field !== undefined) return own(values.alert, field)
  const label = LABEL.exec(name)?.[1]
  if (label !== undefined) {
    const labels = own(values.alert, 'labels')
    return isObject(labels) ? own(labels, label) : undefined
  }
  return own(VALUE_READERS, name)?.(values)
}

export function isKnown(name: string): boolean {
  return Object.hasOwn(ALERT_FIELDS, name) || Object.hasOwn(VALUE_READERS, name) || LABEL.test(name)
}

function toText(value: Json | undefined, charsMax: number): string {
  if (value === undefined || value === null) return ''
  return cut(typeof value === 'string' ? value : JSON.stringify(value), charsMax)
}
