// All rules and silences, as every shard has them: which rules are judged for a device, and why a rule no longer is.
import type { RuleId } from '../../../schemas/ids.ts'
import type { AlertEndReason } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import { type CompiledRule, compileRule, inhibitorsFirst } from './compile.ts'
import { Fit } from './fit.ts'
import type { Rule } from './rule.ts'
import { type CompiledSilence, compileSilence, type Silence } from './silence.ts'
import type { Member } from './subject.ts'

/** Plain data, which reaches every shard as a whole. */
export interface AlertSettings {
  /** Grows with every change. */
  readonly revision: number
  readonly rules: readonly Rule[]
  readonly silences: readonly Silence[]
}

export interface FitOutcome {
  /** Undefined if no rule fits. */
  readonly fit: Fit | undefined
  /** More rules fit than are judged. */
  readonly isOverloaded: boolean
}

const NO_FIT: FitOutcome = { fit: undefined, isOverloaded: false }

export class RuleBook {
  readonly settings: AlertSettings
  readonly silences: readonly CompiledSilence[]
  /** Rules about the fleet, which the leader judges in this order. */
  readonly fleet: readonly CompiledRule[]
  readonly #enabled: readonly CompiledRule[]
  readonly #byId: ReadonlyMap<RuleId, CompiledRule>
  readonly #fits = new Map<string, Fit>()
  readonly #earlierFits: ReadonlyMap<string, Fit>

  /** Reuses the unchanged parts of the book before. */
  constructor(settings: AlertSettings, before?: RuleBook) {
    this.settings = settings
    this.silences = settings.silences.map(compileSilence)
    const compiled = settings.rules.map((rule) => {
      const known = before?.ruleOf(rule.rule_id)
      return known !== undefined && known.rule.revision === rule.revision ? known : compileRule(rule)
    })
    this.#byId = new Map(compiled.map((rule) => [rule.id, rule]))
    const byAge = ({ rule: a }: CompiledRule, { rule: b }: CompiledRule) =>
      a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : a.rule_id < b.rule_id ? -1 : 1
    const enabled = compiled.filter(({ rule }) => rule.enabled).sort(byAge)
    this.#enabled = enabled.filter(({ isAboutFleet }) => !isAboutFleet)
    this.fleet = inhibitorsFirst(enabled.filter(({ isAboutFleet }) => isAboutFleet))
    this.#earlierFits = before?.fits ?? new Map()
  }

  get fits(): ReadonlyMap<string, Fit> {
    return this.#fits
  }

  ruleOf(id: RuleId): CompiledRule | undefined {
    return this.#byId.get(id)
  }

  /** The same object for devices with the same rules. */
  fitFor(device: Member): FitOutcome {
    if (this.#enabled.length === 0 || device.status === 'decommissioned') return NO_FIT
    const fitting = this.#enabled.filter(({ isMember }) => isMember(device))
    if (fitting.length === 0) return NO_FIT
    const isOverloaded = fitting.length > LIMITS.rulesPerDeviceMax
    const rules = isOverloaded ? fitting.slice(0, LIMITS.rulesPerDeviceMax) : fitting
    const key = rules.map(({ id, rule }) => `${id}@${rule.revision}`).join(' ')
    let fit = this.#fits.get(key)
    if (fit === undefined) {
      fit = this.#earlierFits.get(key) ?? new Fit(rules)
      this.#fits.set(key, fit)
    }
    return { fit, isOverloaded }
  }

  /** Why a rule is not judged for the device any more. */
  reasonOf(id: RuleId, device: Member): AlertEndReason {
    if (device.status === 'decommissioned') return 'decommissioned'
    const rule = this.#byId.get(id)
    if (rule === undefined) return 'rule_deleted'
    if (!rule.rule.enabled) return 'rule_disabled'
    return rule.isAboutFleet ? 'rule_changed' : 'target_left'
  }
}
