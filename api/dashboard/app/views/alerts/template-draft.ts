// The body of a webhook while it is being written: placeholders that the service knows, and a field for each that is wanted.

import { parseJsonObject } from '../../../../../schemas/json.ts'
export const PLACEHOLDERS = [
  'alert.message',
  'alert.severity',
  'alert.event',
  'alert.value',
  'alert.threshold',
  'alert.fired_at',
  'alert.link',
  'device.id',
  'device.name',
  'device.group',
  'rule.name',
] as const

/** The body with a field for a placeholder. What is no JSON object is left as it is. */
export function withPlaceholder(text: string, name: string): string {
  const before = text.trim() === '' ? {} : parseJsonObject(text)
  if (before === undefined) return text
  return JSON.stringify({ ...before, [name.replaceAll('.', '_')]: `{{${name}}}` }, null, 2)
}
