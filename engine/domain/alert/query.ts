// Queries about alerts, and their answers.
import type { AlertId, DeviceId, Millis, RuleId } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AlertSeverity, AlertState } from '../../../schemas/vocabulary.ts'

export type AlertSort = 'fired_at' | 'severity' | 'last_value_at'

/** Every given field must match. */
export interface AlertsQuery {
  readonly states: readonly AlertState[]
  readonly severities?: readonly AlertSeverity[] | undefined
  readonly alertId?: AlertId | undefined
  readonly deviceId?: DeviceId | undefined
  /** The group and its subtree. */
  readonly group?: string | undefined
  /** The group subtrees that the caller may see; undefined means all. */
  readonly within?: readonly string[] | undefined
  readonly ruleId?: RuleId | undefined
  readonly type?: string | undefined
  /** Alerts of one storm. */
  readonly groupKey?: string | undefined
  readonly acknowledged?: boolean | undefined
  readonly flapping?: boolean | undefined
  /** True: only those that are snoozed; false: only the others. */
  readonly snoozed?: boolean | undefined
  /** About the time of firing: [from, to). */
  readonly from?: Millis | undefined
  readonly to?: Millis | undefined
  readonly sort?: AlertSort | undefined
  /** Left out: true. */
  readonly descending?: boolean | undefined
  /** The first ones only. */
  readonly limit: number
}

export interface AlertMatches {
  /** All that fit, however many are given. */
  readonly total: number
  /** The first ones as REST shows them, but for their links. */
  readonly alerts: readonly JsonObject[]
}

export type SeverityCounts = Readonly<Record<AlertSeverity, number>>

export interface AlertCounts {
  readonly byState: Readonly<Record<'pending' | 'firing' | 'recovering', SeverityCounts>>
  /** Open alerts by group; devices without one are under the empty name. */
  readonly byGroup: Readonly<Record<string, SeverityCounts>>
  readonly byRule: Readonly<Record<string, { readonly firing: number; readonly pending: number }>>
  /** Devices that more rules fit than are judged for them. */
  readonly overloaded: number
  /** Devices with a condition that is true and waits for room among the open alerts. */
  readonly overflowing: number
}
