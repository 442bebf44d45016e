// Alerts as the API sees them: rules and silences, and the alerts that come of them.
import type { EditRuleBody, RuleWishBody } from '../../schemas/alert-rule.ts'
import type { AlertId, RuleId } from '../../schemas/ids.ts'
import type { AlertAct } from '../domain/alert/acts.ts'
import type { AlertCounts, AlertMatches, AlertsQuery } from '../domain/alert/query.ts'
import type { Rule } from '../domain/alert/rule.ts'
import type { Silence, SilenceMatchers } from '../domain/alert/silence.ts'
import type { Author } from '../domain/shadow/record.ts'
import type { EngineRefusal } from './engine-refusal.ts'

export type * from '../domain/alert/query.ts'

export type AlertChange =
  | { readonly kind: 'create_rule'; readonly id: string; readonly wish: RuleWishBody; readonly by: string }
  | {
      readonly kind: 'edit_rule'
      readonly id: RuleId
      /** All of it, or what changes. */
      readonly wish: EditRuleBody
      readonly isWhole: boolean
      readonly ifRevision: number | undefined
    }
  | { readonly kind: 'delete_rule'; readonly id: RuleId; readonly ifRevision: number | undefined }
  | { readonly kind: 'put_silence'; readonly silence: Silence; readonly isNew: boolean }
  | { readonly kind: 'delete_silence'; readonly id: string }

export type AlertChangeOutcome =
  | { readonly kind: 'changed'; readonly rule?: Rule | undefined; readonly silence?: Silence | undefined }
  | EngineRefusal

export type FleetActOutcome = { readonly kind: 'acted' } | EngineRefusal

export interface AlertsPort {
  /** All rules, the oldest first, those of device types included. */
  rules(): readonly Rule[]
  silences(): readonly Silence[]
  /** Resolves once the change counts for every message that this node acknowledges from now on, and a second later for
   *  those of every other node. */
  change(change: AlertChange): Promise<AlertChangeOutcome>
  /** The open alerts and the latest resolved ones, from memory. The answer sees every change acknowledged before. */
  list(query: AlertsQuery): Promise<AlertMatches>
  /** What a person does to an alert about the fleet. One of a device is a request to the device. */
  actOnFleet(id: AlertId, act: AlertAct, by: Author): Promise<FleetActOutcome>
  counts(within: readonly string[] | undefined): Promise<AlertCounts>
}

export type { Rule, Silence, SilenceMatchers }
