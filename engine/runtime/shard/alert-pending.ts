// Pending instances, which count their `for_sec`: they are no alerts yet, so they are shown but not kept.
import { Micros, toMillis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { pendingBody } from '../../domain/alert/pending-body.ts'
import type { Watch } from '../../domain/alert/watch.ts'
import type { Device } from '../../domain/device/record.ts'
import type { FeedEvent } from '../../ports/feed.ts'
import type { Actor } from './actor.ts'
import { isPending } from './alert-phases.ts'

interface Judging {
  readonly actor: Actor
  readonly watch: Watch
  /** The rules that are judged. */
  readonly rules: readonly number[]
  readonly at: Micros
  readonly decisions: {
    deviceOf(actor: Actor): Device
    publish(events: readonly FeedEvent[]): void
  }
}

/** Runs `judge`, and tells the feed which of the rules became pending by it. */
export function publishPending({ actor, watch, rules, at, decisions }: Judging, judge: () => void): void {
  const now = toMillis(at)
  const counting = () => {
    const { alerts } = decisions.deviceOf(actor)
    return rules.filter((rule) => isPending(watch, rule, alerts, now))
  }
  const before = counting()
  judge()
  const fresh = counting().filter((rule) => !before.includes(rule))
  if (fresh.length === 0) return
  const device = decisions.deviceOf(actor)
  decisions.publish(
    fresh
      .flatMap((rule) => pendingBodiesOf(watch, rule, device))
      .map((alert) => ({ kind: 'alert', event: 'alert.pending', deviceId: device.id, at: now, alert })),
  )
}

/** The pending instance of a rule as users see it. Empty if the actor has no such rule. */
export function pendingBodiesOf(watch: Watch, rule: number, device: Device): readonly JsonObject[] {
  const compiled = watch.fit.rules[rule]
  if (compiled === undefined) return []
  const since = compiled.roots.map((_, root) => watch.since(rule, root))
  const root = since.findIndex((at) => at > 0)
  return [pendingBody(compiled, device, Micros(since[root] ?? 0), root)]
}
