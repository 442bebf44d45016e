// Alerts as the API sees them: rules, silences, and the alerts that the rules raise.
import type { EditRuleBody, RuleRequestBody } from '../../schemas/alert-rule.ts'
import type { AlertId, RuleId } from '../../schemas/ids.ts'
import type { AlertAct } from '../domain/alert/acts.ts'
import type { AlertCounts, AlertMatches, AlertsQuery } from '../domain/alert/query.ts'
import type { Rule } from '../domain/alert/rule.ts'
import type { Silence, SilenceEdit, SilenceMatchers } from '../domain/alert/silence.ts'
import type { Author } from '../domain/shadow/record.ts'
import type { EngineRefusal } from './engine-refusal.ts'

export type * from '../domain/alert/query.ts'

export type AlertChange =
  | { readonly kind: 'create_rule'; readonly id: string; readonly wish: RuleRequestBody; readonly by: string }
  | {
      readonly kind: 'edit_rule'
      readonly id: RuleId
      /** The whole rule if `isWhole`, otherwise only the fields that change. */
      readonly wish: EditRuleBody
      readonly isWhole: boolean
      readonly ifRevision: number | undefined
    }
  | { readonly kind: 'delete_rule'; readonly id: RuleId; readonly ifRevision: number | undefined }
  | { readonly kind: 'create_silence'; readonly silence: Silence }
  /** Only the fields that change, because the others may be changed by somebody else meanwhile. */
  | { readonly kind: 'edit_silence'; readonly id: string; readonly edit: SilenceEdit }
  /** Ends it now, if it is not over. */
  | { readonly kind: 'end_silence'; readonly id: string }

export type AlertChangeOutcome =
  | { readonly kind: 'changed'; readonly rule?: Rule | undefined; readonly silence?: Silence | undefined }
  | EngineRefusal

export type FleetActOutcome = { readonly kind: 'acted' } | EngineRefusal

export interface AlertsPort {
  /** All rules, oldest first, including those that device types bring along. */
  rules(): readonly Rule[]
  silences(): readonly Silence[]
  /** Resolves once the change applies to every message that this node acknowledges from now on. Other nodes follow within
   *  a second. */
  change(change: AlertChange): Promise<AlertChangeOutcome>
  /** The open alerts and the latest resolved ones, from memory. The answer sees every change acknowledged before. */
  list(query: AlertsQuery): Promise<AlertMatches>
  /** A person's act on a fleet alert. Acts on a device's alert are requests to that device. */
  actOnFleet(id: AlertId, act: AlertAct, by: Author): Promise<FleetActOutcome>
  counts(within: readonly string[] | undefined): Promise<AlertCounts>
}

export type { Rule, Silence, SilenceEdit, SilenceMatchers }
