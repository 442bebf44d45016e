// The leader's service for rules and silences. It alone changes them, one after the other, and its claim fences it (R2).

import type { Condition } from '../../../schemas/alert-condition.ts'
import type { RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { RuleId } from '../../../schemas/ids.ts'
import { refused } from '../../../schemas/refusals.ts'
import { SerialQueue } from '../../../schemas/serial-queue.ts'
import { isFleetCondition } from '../../domain/alert/fleet-scope.ts'
import { leavesOf } from '../../domain/alert/leaves.ts'
import {
  createRule,
  type Rule,
  type RuleOutcome,
  replaceRule,
  toRuleRequest,
} from '../../domain/alert/rule.ts'
import { isSilenceSpan, SILENCE_SPAN_EXPECTED, type Silence } from '../../domain/alert/silence.ts'
import { TYPE_RULE_FIELDS } from '../../domain/alert/type-rules.ts'
import { unreachable } from '../../domain/unreachable.ts'
import { LIMITS } from '../../limits.ts'
import type { AlertChange, AlertChangeOutcome } from '../../ports/alerts.ts'
import type { Clock } from '../../ports/clock.ts'
import type { SavedDocument } from '../../ports/documents.ts'
import type { EngineRefusal } from '../../ports/engine-refusal.ts'
import { type Claim, NO_SAVE, type Records } from '../../ports/store.ts'
import { type AlertBook, packDocument, RULES, SILENCES } from './alert-book.ts'

export interface AlertDeskPorts {
  readonly store: Pick<Records, 'save'>
  readonly claims: readonly Claim[]
  readonly book: AlertBook
  readonly clock: Pick<Clock, 'now'>
  /** The ids of all channels. */
  readonly channels: () => Promise<readonly string[]>
}

/** How long a silence is kept after its end. */
const SILENCE_KEPT_MS = 30 * 86_400_000

export class AlertDesk {
  readonly #ports: AlertDeskPorts
  readonly #changes = new SerialQueue()

  constructor(ports: AlertDeskPorts) {
    this.#ports = ports
  }

  /** Reads everything that earlier leaders have written. */
  async open(): Promise<void> {
    await this.#ports.book.refresh()
  }

  close(): void {
    // Nothing to stop: changes under way are fenced by their claims.
  }

  /** Resolves once the change is saved and in effect on this node. */
  change(change: AlertChange): Promise<AlertChangeOutcome> {
    return this.#changes.run(() => this.#change(change))
  }

  async #change(change: AlertChange): Promise<AlertChangeOutcome> {
    switch (change.kind) {
      case 'create_rule':
        return this.#createRule(change)
      case 'edit_rule':
        return this.#editRule(change)
      case 'delete_rule':
        return this.#deleteRule(change)
      case 'create_silence':
        return this.#createSilence(change.silence)
      case 'edit_silence':
        return this.#editSilence(change)
      case 'end_silence':
        return this.#endSilence(change.id)
      default:
        return unreachable(change)
    }
  }

  async #createRule({
    id,
    wish,
    by,
  }: Extract<AlertChange, { kind: 'create_rule' }>): Promise<AlertChangeOutcome> {
    const { book, clock } = this.#ports
    const outcome = createRule(wish, { id, by, now: clock.now() })
    if (outcome.kind === 'mistakes') return mistaken(outcome)
    const known = book.rule(outcome.rule.rule_id)
    // The same request was sent again with its Idempotency-Key.
    if (known !== undefined) return { kind: 'changed', rule: known }
    if (book.settings.rules.filter(({ source }) => source === 'api').length >= LIMITS.rulesMax)
      return refused('LIMIT_REACHED', { limit: LIMITS.rulesMax })
    return this.#keepRule(outcome.rule)
  }

  async #editRule({
    id,
    wish,
    isWhole,
    ifRevision,
  }: Extract<AlertChange, { kind: 'edit_rule' }>): Promise<AlertChangeOutcome> {
    const { book, clock } = this.#ports
    const before = book.rule(id)
    if (before === undefined) return refused('NOT_FOUND', { message: 'no such rule' })
    if (ifRevision !== undefined && ifRevision !== before.revision)
      return refused('PRECONDITION_FAILED', { expected: before.revision, got: ifRevision })
    if (before.source === 'device_type') {
      const fixed = Object.keys(wish).filter((name) => !TYPE_RULE_FIELDS.some((field) => field === name))
      if (fixed.length > 0 || isWhole)
        return refused('RULE_OF_TYPE', { rule_id: id, fields: fixed, allowed: TYPE_RULE_FIELDS })
    }
    // The schema of a whole wish makes sure that nothing is missing.
    const whole = (isWhole ? wish : { ...toRuleRequest(before), ...wish }) as RuleRequestBody
    const outcome = replaceRule(before, whole, clock.now())
    return outcome.kind === 'mistakes' ? mistaken(outcome) : this.#keepRule(outcome.rule, before)
  }

  async #deleteRule({
    id,
    ifRevision,
  }: Extract<AlertChange, { kind: 'delete_rule' }>): Promise<AlertChangeOutcome> {
    const rule = this.#ports.book.rule(id)
    if (rule === undefined) return refused('NOT_FOUND', { message: 'no such rule' })
    if (ifRevision !== undefined && ifRevision !== rule.revision)
      return refused('PRECONDITION_FAILED', { expected: rule.revision, got: ifRevision })
    if (rule.source === 'device_type')
      return refused('RULE_OF_TYPE', { rule_id: id, allowed: TYPE_RULE_FIELDS })
    await this.#save({ collection: RULES, id, bytes: undefined })
    return { kind: 'changed', rule }
  }

  /** Checks only names that the rule did not have `before`. Those it had may be gone, but the change may be about
   *  something else. */
  async #keepRule(rule: Rule, before?: Rule): Promise<AlertChangeOutcome> {
    const named = before?.channels ?? []
    const isNew = (rule.channels ?? []).some((channel) => !named.includes(channel))
    const known = isNew ? [...(await this.#ports.channels()), ...named] : named
    const errors = (rule.channels ?? []).flatMap((channel, i) =>
      known.includes(channel)
        ? []
        : [{ path: `/channels/${i}`, code: 'NOT_ALLOWED', message: 'there is no such channel' }],
    )
    const counted = before === undefined ? [] : countedRules(before.condition)
    const strangers = countedRules(rule.condition).filter(
      (id) => !counted.includes(id) && !this.#isOfDevices(id),
    )
    const unknown = strangers.map((id) => ({
      path: '/condition',
      code: 'NOT_ALLOWED',
      message: `counts alerts of ${id}, which is no rule about single devices`,
    }))
    if (errors.length + unknown.length > 0)
      return mistaken({ kind: 'mistakes', errors: [...errors, ...unknown] })
    await this.#save({ collection: RULES, id: rule.rule_id, bytes: packDocument(rule) })
    return { kind: 'changed', rule }
  }

  #isOfDevices(id: string): boolean {
    const rule = this.#ports.book.rule(RuleId(id))
    return rule !== undefined && !isFleetCondition(rule.condition)
  }

  async #createSilence(silence: Silence): Promise<AlertChangeOutcome> {
    const { book, clock } = this.#ports
    const { silences } = book.settings
    const known = this.#silence(silence.silence_id)
    if (known !== undefined) return { kind: 'changed', silence: known }
    const now = clock.now()
    // Silences that are over stay readable until their room is needed.
    const excess = silences.length + 1 - LIMITS.silencesMax
    const over = silences
      .filter(({ ends_at: endsAt }) => endsAt <= now)
      .toSorted((a, b) => a.ends_at - b.ends_at)
      .filter(({ ends_at: endsAt }, i) => i < excess || endsAt + SILENCE_KEPT_MS < now)
    if (silences.length - over.length >= LIMITS.silencesMax)
      return refused('LIMIT_REACHED', { limit: LIMITS.silencesMax })
    const removals = over.map(({ silence_id: id }) => ({ collection: SILENCES, id, bytes: undefined }))
    return this.#keepSilence(silence, removals)
  }

  async #editSilence({
    id,
    edit,
  }: Extract<AlertChange, { kind: 'edit_silence' }>): Promise<AlertChangeOutcome> {
    const before = this.#silence(id)
    if (before === undefined) return silenceNotFound()
    const silence = { ...before, ...edit, revision: before.revision + 1 }
    // One that was ended at once may still get another comment.
    const hasOtherSpan = edit.starts_at !== undefined || edit.ends_at !== undefined
    return hasOtherSpan && !isSilenceSpan(silence) ? wrongSpan() : this.#keepSilence(silence)
  }

  async #endSilence(id: string): Promise<AlertChangeOutcome> {
    const before = this.#silence(id)
    if (before === undefined) return silenceNotFound()
    const now = this.#ports.clock.now()
    if (before.ends_at <= now) return { kind: 'changed', silence: before }
    const starts_at = Math.min(before.starts_at, now)
    return this.#keepSilence({ ...before, starts_at, ends_at: now, revision: before.revision + 1 })
  }

  #silence(id: string): Silence | undefined {
    return this.#ports.book.settings.silences.find(({ silence_id: each }) => each === id)
  }

  async #keepSilence(silence: Silence, more: readonly SavedDocument[] = []): Promise<AlertChangeOutcome> {
    await this.#save({ collection: SILENCES, id: silence.silence_id, bytes: packDocument(silence) }, ...more)
    return { kind: 'changed', silence }
  }

  async #save(...documents: readonly SavedDocument[]): Promise<void> {
    const { store, claims, book } = this.#ports
    await store.save({ ...NO_SAVE, claims, documents })
    await Promise.all(documents.map(({ collection, id }) => book.refresh(collection, id)))
  }
}

const silenceNotFound = () => refused('NOT_FOUND', { message: 'no such silence' })

const wrongSpan = () =>
  mistaken({
    kind: 'mistakes',
    errors: [{ path: '/ends_at', code: 'OUT_OF_RANGE', message: SILENCE_SPAN_EXPECTED }],
  })

/** The ids of the rules whose alerts a condition about the fleet counts. */
function countedRules(condition: Condition): readonly string[] {
  return leavesOf(condition).flatMap((leaf) =>
    leaf.kind === 'fleet' && 'rule_id' in leaf.of ? [leaf.of.rule_id] : [],
  )
}

function mistaken({ errors }: Extract<RuleOutcome, { kind: 'mistakes' }>): EngineRefusal {
  const [first] = errors
  const message = first === undefined ? 'the rule is not valid' : `${first.path}: ${first.message}`
  const code = first?.code === 'UNKNOWN_PLACEHOLDER' ? first.code : 'VALIDATION_FAILED'
  return refused(code, { message, errors: errors.map((error) => ({ in: 'body', ...error })) })
}
