// What an alert says. The service writes numbers and a limit in brackets where a rule has no text of its own; here they are
// named.
import { number, words } from '../words/words.ts'
import { plainText } from './plain-text.ts'

const t = words({
  offline: ['the device is offline', 'das Gerät ist offline'],
  firmware_update: ['a firmware update', 'ein Firmware-Update'],
  silence: ['a silence', 'eine Stummschaltung'],
  rule: ['another rule', 'eine andere Regel'],
  snooze: ['it is snoozed', 'zurückgestellt'],
  limit: ['{metric} is {value}, the limit is {limit}', '{metric} ist {value}, die Grenze ist {limit}'],
})

interface AlertFields {
  readonly type: string
  readonly metric: string | null
  readonly value: unknown
  readonly threshold: unknown
  readonly message: string
}

export function alertText({ type, metric, value, threshold, message }: AlertFields): string {
  // Its value is that of the moment in which it fired.
  const [, saidType, saidLimit] = /: (\w+) \S+ \((\S+)\)$/.exec(message) ?? []
  const isOwnText = saidType !== type || saidLimit !== String(threshold)
  if (isOwnText || metric === null || typeof value !== 'number' || typeof threshold !== 'number')
    return plainText(message)
  return t('limit', { metric: plainText(metric), value: number(value), limit: number(threshold) })
}

const MUTES = ['offline', 'maintenance', 'firmware_update', 'silence', 'rule', 'snooze'] as const

/** What keeps an alert from being told. The id of a silence or a rule follows a colon, and is left out. */
export function mutedText(by: readonly string[]): string {
  return by
    .map((what) => {
      const kind = MUTES.find((known) => known === what.split(':')[0])
      return kind === undefined ? plainText(what) : t(kind)
    })
    .join(', ')
}
