// POST /alerts/rules/test: which alerts a rule would have raised for some devices in the past. Nothing is stored or sent.
import { leavesOf } from '../../engine/domain/alert/leaves.ts'
import { createRule, type Rule } from '../../engine/domain/alert/rule.ts'
import { type PastEvent, tryRule, untestableKind } from '../../engine/domain/alert/rule-trial.ts'
import { membership } from '../../engine/domain/alert/target.ts'
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { NEW_SHADOW } from '../../engine/domain/shadow/record.ts'
import type { HistoryPlace, HistoryRow } from '../../engine/ports/history.ts'
import type { PointPlace } from '../../engine/ports/telemetry.ts'
import { type DeviceId, Millis, parseDeviceId, toIso, toMillis } from '../../schemas/ids.ts'
import { testAlertRule } from '../../schemas/operations/alert-rules.ts'
import { DEVICE_STATUSES } from '../../schemas/vocabulary.ts'
import type { Caller } from '../auth/caller.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import { answer } from '../http/answer.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan } from '../http/span.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'

const SPAN_MAX_MS = 7 * 86_400_000
const DEVICES_MAX = 100
const POINTS_MAX = 20_000_000
const TIME_MAX_MS = 15_000
const PAGE = 50_000
const HISTORY_PAGE = 10_000
const EPISODES_MAX = 1_000
const FAILED: ReadonlySet<unknown> = new Set(['failed', 'expired', 'rejected'])
const FAILED_JOBS: ReadonlySet<unknown> = new Set(['failed', 'timed_out', 'rejected', 'rollback_failed'])

export function alertRuleTestRoutes(services: Services): readonly Route[] {
  const { clock } = services
  return [
    route(testAlertRule, async ({ body, user }) => {
      const made = createRule(body.rule, { id: 'rul_test', by: user.id, now: clock.now() })
      if (made.kind === 'mistakes') return mistaken(made.errors)
      const { rule } = made
      const kind = untestableKind(rule)
      if (kind !== undefined)
        return refused('NOT_TESTABLE', { message: `nothing that is stored tells of ${kind}`, kind })
      const span = parseSpan(body, clock.now(), 'body')
      if (span.kind === 'refused') return span
      const { from, to = clock.now() } = span
      if (from === undefined) return wrongSpan('is required', '/from')
      if (to - from > SPAN_MAX_MS) return wrongSpan('must be at most 7 days after `from`', '/to')
      const chosen = chosenDevices(services, rule, { named: body.device_ids, user })
      if (chosen.kind === 'refused') return chosen
      return run(services, rule, { ...chosen, from, to })
    }),
  ]
}

interface TestedDevices {
  readonly devices: readonly DeviceRecord[]
  readonly isSample: boolean
}

async function run(
  services: Services,
  rule: Rule,
  { devices, isSample, from, to }: TestedDevices & { readonly from: Millis; readonly to: Millis },
) {
  const { clock } = services
  const until = clock.ticks() + TIME_MAX_MS
  const episodes: object[] = []
  let points = 0
  let notifications = 0
  for (const [done, device] of devices.entries()) {
    const read = await pastOf(services, rule, { device, from, to, pointsLeft: POINTS_MAX - points, until })
    if (read === undefined || clock.ticks() > until) {
      const fits = Math.max(60, Math.floor(((to - from) / 1_000) * ((done + 1) / (devices.length + 1))))
      return wrongSpan(`is too far from \`from\` for so many points: about ${fits} seconds fit`, '/to')
    }
    points += read.points
    const begin = beginOf(device, { from, events: read.events })
    if (begin >= to) continue
    const status = await statusAt(services, device, { from, events: read.events })
    const subject = { ...device, status, shadow: NEW_SHADOW }
    const tried = tryRule(rule, subject, { events: read.events, from: begin, to })
    notifications += tried.notifications
    for (const { startedAt, firedAt, resolvedAt, peak, count } of tried.episodes)
      episodes.push({
        device_id: device.id,
        started_at: toIso(toMillis(startedAt)),
        fired_at: toIso(firedAt),
        resolved_at: resolvedAt === undefined ? null : toIso(resolvedAt),
        peak,
        count,
      })
  }
  return answer(200, {
    devices: devices.length,
    points,
    episodes: episodes.slice(0, EPISODES_MAX),
    notifications,
    truncated: isSample || episodes.length > EPISODES_MAX,
  })
}

interface PointsRequest {
  readonly device: DeviceRecord
  readonly from: Millis
  readonly to: Millis
  readonly pointsLeft: number
  /** When the time for the whole test is over, in the clock's ticks. */
  readonly until: number
}

/** Undefined if there is more than may be read. */
async function pastOf(
  { engine, clock }: Services,
  rule: Rule,
  { device: { id: deviceId }, from, to, pointsLeft, until }: PointsRequest,
): Promise<{ readonly events: readonly PastEvent[]; readonly points: number } | undefined> {
  const leaves = [...leavesOf(rule.condition), ...(rule.clear === null ? [] : leavesOf(rule.clear))].map(
    (leaf) => (leaf.kind === 'repeat' ? leaf.condition : leaf),
  )
  const named = leaves.flatMap((leaf) => ('metric' in leaf && leaf.metric !== undefined ? [leaf.metric] : []))
  // Whether a device is completely silent depends on all its known metrics.
  const isAboutAll = leaves.some((leaf) => leaf.kind === 'absence' && leaf.metric === undefined)
  const known = isAboutAll ? ((await engine.metricsOf(deviceId)) ?? []).map(({ metric }) => metric) : []
  const events: PastEvent[] = []
  for (const metric of new Set([...named, ...known])) {
    let after: PointPlace | undefined
    for (let isMore = true; isMore; ) {
      const page = await engine.points({ deviceId, metric, from, to, after, limit: PAGE })
      for (const { at, value } of page) events.push({ kind: 'value', at, metric, value })
      const last = page.at(-1)
      after = last && { at: last.at, isText: typeof last.value === 'string' }
      isMore = page.length === PAGE
      if (events.length > pointsLeft) return undefined
    }
  }
  const points = events.length
  // The status decides about every rule: what mutes it, and whether silence counts.
  const kinds = (['status', 'command', 'ota'] as const).filter(
    (kind) => kind === 'status' || leaves.some((leaf) => HISTORY_OF[kind] === leaf.kind),
  )
  let before: HistoryPlace | undefined
  // A busy device has many rows, most of which are about nothing that the rule looks at.
  for (let isMore = true; isMore; ) {
    const rows = await engine.history({ deviceId, kinds, from, to, before, limit: HISTORY_PAGE })
    for (const row of rows) events.push(...eventsOf(row))
    before = rows.at(-1)
    isMore = rows.length === HISTORY_PAGE
    if (clock.ticks() > until) return undefined
  }
  return { events: events.sort((a, b) => a.at - b.at), points }
}

const HISTORY_OF = { command: 'command_failed', ota: 'deployment_failed' } as const

function eventsOf({ kind, at, body }: HistoryRow): readonly PastEvent[] {
  const status = kind === 'status' ? body['to'] : body['status']
  if (kind === 'status') {
    const known = DEVICE_STATUSES.find((each) => each === status)
    const before = DEVICE_STATUSES.find((each) => each === body['from'])
    return known === undefined ? [] : [{ kind: 'status', at, before, status: known }]
  }
  const { command } = body
  if (kind === 'command' && FAILED.has(status))
    return [{ kind: 'failure', at, of: 'command_failed', command: String(command), status: String(status) }]
  if (kind === 'ota' && FAILED_JOBS.has(status) && status !== body['previous'])
    return [{ kind: 'failure', at, of: 'deployment_failed', command: undefined, status: String(status) }]
  return []
}

/** When the device begins to be judged: not before its registration, unless it has measured something earlier. */
function beginOf(
  { createdAt }: DeviceRecord,
  { from, events: [first] }: { readonly from: Millis; readonly events: readonly PastEvent[] },
): Millis {
  const knownAt = first === undefined ? createdAt : Math.min(createdAt, Math.floor(first.at / 1_000))
  return Millis(Math.max(from, knownAt))
}

/** The status that the device had at the start. */
async function statusAt(
  { engine }: Services,
  { id: deviceId, status }: DeviceRecord,
  { from, events }: { readonly from: Millis; readonly events: readonly PastEvent[] },
): Promise<DeviceRecord['status']> {
  const first = events.find((event) => event.kind === 'status')
  // Only a registration has none before.
  if (first !== undefined) return first.before ?? 'provisioning'
  const [last] = await engine.history({ deviceId, kinds: ['status'], to: from, limit: 1 })
  const [event] = last === undefined ? [] : eventsOf(last)
  return event?.kind === 'status' ? event.status : status
}

function chosenDevices(
  { engine }: Services,
  { target }: Rule,
  { named, user }: { readonly named: readonly string[] | undefined; readonly user: Caller },
): ({ readonly kind: 'chosen' } & TestedDevices) | Refusal {
  const scope = scopeOf(user)
  const ids = named?.map(parseDeviceId) ?? engine.devices.matching({ within: scope })
  const isMember = named === undefined ? membership(target) : () => true
  const devices: DeviceRecord[] = []
  let isSample = false
  for (const id of ids) {
    const device = id === undefined ? undefined : engine.devices.get(id as DeviceId)
    const isSeen = device !== undefined && isInScope(device.group, scope)
    if (!isSeen && named !== undefined) return refused('NOT_FOUND', { message: 'no such device' })
    if (!isSeen || !isMember(device)) continue
    isSample = devices.length >= DEVICES_MAX
    if (isSample) break
    devices.push(device)
  }
  return { kind: 'chosen', devices, isSample }
}

function mistaken(
  errors: readonly { readonly path: string; readonly code: string; readonly message: string }[],
) {
  const [first] = errors
  return refused(first?.code === 'UNKNOWN_PLACEHOLDER' ? first.code : 'VALIDATION_FAILED', {
    message: `/rule${first?.path}: ${first?.message}`,
    errors: errors.map((error) => ({ in: 'body', ...error, path: `/rule${error.path}` })),
  })
}

function wrongSpan(message: string, path: string): Refusal {
  return invalid(path, { in: 'body', code: 'OUT_OF_RANGE', message })
}
