// /alerts/rules: everyone may read. An admin may write all rules, an operator those whose target is within their groups.
import { isTargetWithin, isWithin, namedDevices, namedGroup } from '../../engine/domain/alert/target.ts'
import type { AlertChangeOutcome, Rule } from '../../engine/ports/alerts.ts'
import type { EditRuleBody, RuleBody } from '../../schemas/alert-rule.ts'
import { RuleId } from '../../schemas/ids.ts'
import {
  createAlertRule,
  deleteAlertRule,
  editAlertRule,
  getAlertRule,
  listAlertRules,
  replaceAlertRule,
} from '../../schemas/operations/alert-rules.ts'
import type { Caller } from '../auth/caller.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import { type Answer, answer } from '../http/answer.ts'
import { isFresh, parseIfMatch, quoted } from '../http/etag.ts'
import { refuseChangedFields } from '../http/immutable-fields.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { createFor } from '../http/repeats.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { type Refusal, refused } from '../refusal.ts'

export function alertRuleRoutes(services: Services): readonly Route[] {
  const { engine, ids, clock } = services
  return [
    route(listAlertRules, async ({ query, user, url }) => {
      const { severity, enabled, q } = query
      const part = q?.toLowerCase()
      const found = engine.alerts
        .rules()
        .toReversed()
        .filter((rule) => isVisible(services, rule, user))
        .filter((rule) => severity === undefined || rule.severity === severity)
        .filter((rule) => enabled === undefined || rule.enabled === enabled)
        .filter((rule) => part === undefined || rule.name.toLowerCase().includes(part))
      const window = toWindow(query)
      const page = found.slice(window.offset, window.offset + window.perPage)
      return pageAnswer(await bodiesOf(services, page, user), found.length, window, url)
    }),
    route(createAlertRule, async ({ body, user, repeatKey }) => {
      const requested = body
      const outside = refuseOutside(services, requested.target, user)
      if (outside !== undefined) return outside
      const made = await createFor(
        repeatKey,
        { prefix: 'rul_', ids, clock },
        {
          create: (id) => engine.alerts.change({ kind: 'create_rule', id, wish: requested, by: user.id }),
          createdAt: (outcome) => (outcome.kind === 'changed' ? createdAtOf(outcome.rule) : undefined),
        },
      )
      return ruleAnswer(services, made, { status: 201, user })
    }),
    route(getAlertRule, async ({ params, user, header }) => {
      const rule = visibleRule(services, params.rule_id, user)
      if (rule === undefined) return ruleNotFound()
      const etag = etagOf(rule)
      if (isFresh(header('if-none-match'), etag)) return answer(304, undefined, { etag: quoted(etag) })
      return ruleAnswer(services, { kind: 'changed', rule }, { status: 200, user })
    }),
    route(replaceAlertRule, ({ params, body, user, header }) =>
      edit(services, { id: params.rule_id, body, isWhole: true, user, ifMatch: header('if-match') }),
    ),
    route(editAlertRule, ({ params, body, user, header }) =>
      edit(services, { id: params.rule_id, body, isWhole: false, user, ifMatch: header('if-match') }),
    ),
    route(deleteAlertRule, async ({ params, user, header }) => {
      const rule = visibleRule(services, params.rule_id, user)
      if (rule === undefined || refuseOutside(services, rule.target, user) !== undefined)
        return ruleNotFound()
      const condition = parseIfMatch(header('if-match'), rule.revision)
      if (condition.kind === 'stale') return stale(rule, header('if-match'))
      const ifRevision = condition.kind === 'revision' ? condition.revision : undefined
      const deleted = await engine.alerts.change({ kind: 'delete_rule', id: rule.rule_id, ifRevision })
      return deleted.kind === 'refused' ? deleted : answer(204, undefined)
    }),
  ]
}

interface Edit {
  readonly id: string
  readonly body: EditRuleBody
  readonly isWhole: boolean
  readonly user: Caller
  readonly ifMatch: string | undefined
}

async function edit(
  services: Services,
  { id, body, isWhole, user, ifMatch }: Edit,
): Promise<Answer | Refusal> {
  const rule = visibleRule(services, id, user)
  if (rule === undefined || refuseOutside(services, rule.target, user) !== undefined) return ruleNotFound()
  const condition = parseIfMatch(ifMatch, rule.revision)
  if (condition.kind === 'stale') return stale(rule, ifMatch)
  const { rule_id, source, created_by, created_at } = rule
  const changed = refuseChangedFields(body, { rule_id, source, created_by, created_at })
  if (changed !== undefined) return changed
  const outside = body.target === undefined ? undefined : refuseOutside(services, body.target, user)
  if (outside !== undefined) return outside
  const ifRevision = condition.kind === 'revision' ? condition.revision : undefined
  const edited = await services.engine.alerts.change({
    kind: 'edit_rule',
    id: rule.rule_id,
    wish: body,
    isWhole,
    ifRevision,
  })
  return ruleAnswer(services, edited, { status: 200, user })
}

async function ruleAnswer(
  services: Services,
  outcome: AlertChangeOutcome,
  { status, user }: { readonly status: number; readonly user: Caller },
): Promise<Answer | Refusal> {
  if (outcome.kind === 'refused') return outcome
  const { rule } = outcome
  if (rule === undefined) return ruleNotFound()
  const [body] = await bodiesOf(services, [rule], user)
  const location = status === 201 ? { location: `${listAlertRules.path}/${rule.rule_id}` } : {}
  return answer(status, body, { etag: quoted(etagOf(rule)), ...location })
}

async function bodiesOf(
  { engine }: Services,
  rules: readonly Rule[],
  user: Caller,
): Promise<readonly RuleBody[]> {
  if (rules.length === 0) return []
  const { byRule } = await engine.alerts.counts(scopeOf(user))
  return rules.map((rule) => {
    const { activated_at: _, ...body } = rule
    const { firing = 0, pending = 0 } = byRule[rule.rule_id] ?? {}
    return { ...body, etag: etagOf(rule), state: { firing, pending } }
  })
}

/** A rule whose target names only devices or a group outside the caller's groups is hidden from the caller. */
function isVisible({ engine }: Services, { target }: Rule, user: Caller): boolean {
  const scope = scopeOf(user)
  if (scope === undefined) return true
  const named = namedDevices(target)
  if (named !== undefined) return named.some((id) => isInScope(engine.devices.summary(id)?.group, scope))
  if (target.type !== 'group' || typeof target.value !== 'string') return true
  const { value } = target
  return scope.some((root) => isWithin(value, root))
}

function visibleRule(services: Services, id: string, user: Caller): Rule | undefined {
  const rule = services.engine.alerts.rules().find(({ rule_id: each }) => each === RuleId(id))
  return rule !== undefined && isVisible(services, rule, user) ? rule : undefined
}

/** The reason why the caller may not write a rule with this target, if there is one. */
function refuseOutside({ engine }: Services, target: Rule['target'], user: Caller): Refusal | undefined {
  const scope = scopeOf(user)
  if (scope === undefined) return undefined
  const named = namedDevices(target)
  const isInside = Array.isArray(named)
    ? named.every((id) => isInScope(engine.devices.summary(id)?.group, scope))
    : isTargetWithin(target, scope)
  if (isInside) return undefined
  // To the caller, a device or group outside their own groups does not exist.
  if (named !== undefined) return refused('NOT_FOUND', { message: 'no such device' })
  if (namedGroup(target) !== undefined) return refused('NOT_FOUND', { message: 'no such group' })
  return refused('FORBIDDEN', {
    message: 'a rule of an operator is about a group, or devices, within the operator’s groups',
    groups: scope,
  })
}

const createdAtOf = (rule: Rule | undefined) => (rule === undefined ? undefined : Date.parse(rule.created_at))

const etagOf = ({ revision }: Rule) => String(revision)

const stale = (rule: Rule, got: string | undefined) =>
  refused('PRECONDITION_FAILED', { expected: quoted(etagOf(rule)), got })

const ruleNotFound = () => refused('NOT_FOUND', { message: 'no such rule' })
