// Ids of alerts. They follow from rule, subject and position in the log, so an entry that is read again gives the same alert.
import { AlertId, type DeviceId, type RuleId } from '../../../schemas/ids.ts'
import { shortHash } from '../short-hash.ts'

/** What an alert of a rule is about: a device, or a group of the fleet. */
export type AlertSubject = { readonly deviceId: DeviceId } | { readonly group: string }

/** The same episode always gets the same id, also on another node. */
export function alertId(ruleId: RuleId, subject: AlertSubject, moments: readonly number[]): AlertId {
  if ('group' in subject)
    return AlertId(`alt_${shortHash([ruleId, `/${subject.group}`, ...moments].join(' '))}`)
  const { deviceId } = subject
  return AlertId(`alt_${shortHash([ruleId, deviceId, ...moments].join(' '))}_${deviceId}`)
}

/** The device that the alert is about, if it is about one. */
export function deviceOfAlert(id: string): string | undefined {
  return /^alt_[0-9a-f]{16}_(.+)$/.exec(id)?.[1]
}

export function isFleetAlertId(id: string): boolean {
  return /^alt_[0-9a-f]{16}$/.test(id)
}
