// The state of each rule on an actor, from its settled record and its vitals.
import type { Millis } from '../../../schemas/ids.ts'
import type { Alerts } from '../../domain/alert/alerts-part.ts'
import { type Phase, phaseOf } from '../../domain/alert/decide.ts'
import { sinceOf } from '../../domain/alert/judge.ts'
import type { DeviceFacts } from '../../domain/alert/leaf-truth.ts'
import type { Watch } from '../../domain/alert/watch.ts'
import type { KnownTelemetry, MetricValue } from '../../domain/alert/watch-memory.ts'
import { flapsUntil } from '../../domain/device/flapping.ts'
import type { Device } from '../../domain/device/record.ts'
import type { Actor } from './actor.ts'
import type { CountedAlert } from './alert-counters.ts'

const NO_RULES: readonly number[] = []
const NO_ALERTS: readonly CountedAlert[] = []

export function phaseAt(watch: Watch, rule: number, alerts: Alerts, now: Millis): Phase {
  const compiled = watch.fit.rules[rule]
  return compiled === undefined ? 'inactive' : phaseOf(alerts, compiled, sinceOf(watch, rule), now * 1_000)
}

/** The rules that have a pending instance, one that counts its `for_sec`. */
export function pendingRules({ watch, device }: Actor, now: Millis): readonly number[] {
  if (watch === undefined) return NO_RULES
  return watch.fit.rules.flatMap((_, rule) => (isPending(watch, rule, device.alerts, now) ? [rule] : []))
}

export function isPending(watch: Watch, rule: number, alerts: Alerts, now: Millis): boolean {
  return phaseAt(watch, rule, alerts, now) === 'pending'
}

/** The open alerts and pending instances of an actor. */
export function countedAlerts(actor: Actor, now: Millis): readonly CountedAlert[] {
  const { device, watch } = actor
  if (device.alerts.open.length === 0 && watch === undefined) return NO_ALERTS
  const open = device.alerts.open.map(({ ruleId, severity }): CountedAlert => {
    const rule = watch?.fit.ruleIndex.get(ruleId)
    const phase =
      watch === undefined || rule === undefined ? 'firing' : phaseAt(watch, rule, device.alerts, now)
    return { ruleId, severity, state: phase === 'recovering' ? 'recovering' : 'firing' }
  })
  const pending = pendingRules(actor, now).flatMap((place): CountedAlert[] => {
    const rule = watch?.fit.rules[place]
    if (watch === undefined || rule === undefined) return []
    const counting = rule.roots.find((_, root) => watch.since(place, root) > 0)
    return [{ ruleId: rule.id, severity: counting?.severity ?? rule.rule.severity, state: 'pending' }]
  })
  return [...open, ...pending]
}

/** What conditions can see of the device besides its values. */
export function sightOf(actor: Actor, device: Device): Omit<DeviceFacts, 'forgivenAtMs' | 'graceMs'> {
  return {
    device,
    connected: actor.session !== undefined || actor.relay !== undefined,
    connectedSinceMs: actor.connectionSince ?? device.createdAt,
    flapsUntilMs: actor.connects === undefined ? 0 : flapsUntil(actor.connects),
  }
}

/** What rules need to know that have seen nothing of the device yet. */
export function knownTelemetry(actor: Actor): KnownTelemetry {
  return { receivedAt: actor.telemetryAt * 1_000, latestOf: (metric) => latestOf(actor, metric) }
}

/** The newest value of a metric. */
function latestOf({ latest, telemetryAt }: Actor, metric: string): MetricValue | undefined {
  const found = latest?.toMetrics().find((each) => each.metric === metric)
  const value = typeof found?.value === 'boolean' ? Number(found.value) : found?.value
  if (found === undefined || (typeof value !== 'number' && typeof value !== 'string')) return undefined
  return { value, at: found.at, receivedAt: Math.max(1, telemetryAt * 1_000) }
}
