// How an event becomes part of a proposal: the device's next state, its effects, and the commands that are due
// after it.
import { Millis } from '../../../schemas/ids.ts'
import type { Alert } from '../../domain/alert/alerts-part.ts'
import { sendCommands } from '../../domain/device/command-events.ts'
import type { DeviceEvent, Outcome } from '../../domain/device/events.ts'
import { sendOta } from '../../domain/device/ota-events.ts'
import type { Device } from '../../domain/device/record.ts'
import { transition } from '../../domain/device/transition.ts'
import { isReachStale } from '../../domain/ota/firmware-jobs.ts'
import type { FeedEvent } from '../../ports/feed.ts'
import { type Actor, isReachable, otaWayOf, toView, wayOf } from './actor.ts'
import { displayedState } from './displayed-alert.ts'
import { withLatestProgress } from './latest-progress.ts'
import type { OpenProposal, RequestResult } from './proposal.ts'
import type { ShardAlerts } from './shard-alerts.ts'

export class Decisions {
  readonly #open: OpenProposal
  readonly #now: Millis
  readonly #alerts: ShardAlerts

  /** `now`: the latest time known. */
  constructor(open: OpenProposal, now: Millis, alerts: ShardAlerts) {
    this.#alerts = alerts
    this.#open = open
    this.#now = now
  }

  /** Returns the device as changed by the batch so far. */
  deviceOf({ device }: Actor): Device {
    return this.#open.devices.get(device.id) ?? device
  }

  decide(actor: Actor, event: DeviceEvent, now: Millis): Device {
    const before = withLatestProgress(actor, this.deviceOf(actor))
    this.follow(actor, before, transition(before, event, now), now)
    return this.deviceOf(actor)
  }

  /** Adds events to the feed that need no save. */
  publish(events: readonly FeedEvent[]): void {
    this.#open.feed.push(...events)
  }

  /** Keeps the outcome of a decision. `before` is undefined for a new device. */
  follow(actor: Actor, before: Device | undefined, outcome: Outcome, now: Millis): RequestResult {
    const result = this.#keep(actor, before, outcome, now)
    if (result.refusal === undefined && !result.isForgotten) this.send(actor, now)
    return result
  }

  /** Sends the commands that are due. The latest time known decides whether a command has expired, because an old message
   *  of a backlog must not cause an expired command to be sent. */
  send(actor: Actor, at: Millis): void {
    const before = this.deviceOf(actor)
    const now = Millis(Math.max(at, this.#now))
    if (before.firmware.jobs.length > 0) this.#sendOta(actor, now)
    const way = wayOf(actor)
    if (before.commands.length === 0 || way === undefined) return
    const device = this.deviceOf(actor)
    this.#keep(actor, device, sendCommands(device, { way, now }), now)
  }

  /** Tells the jobs first whether the device is reachable, because what they wait for depends on it. */
  #sendOta(actor: Actor, now: Millis): void {
    const way = otaWayOf(actor)
    const isNear = isReachable(actor, now)
    const device = this.deviceOf(actor)
    if (isReachStale(device.firmware, isNear)) {
      const event = { kind: 'ota_session', own: undefined, isReachable: isNear } as const
      this.#keep(actor, device, transition(device, event, now), now)
    }
    const before = this.deviceOf(actor)
    this.#keep(actor, before, sendOta(before, { session: way?.session, now }), now)
  }

  #keep(actor: Actor, before: Device | undefined, { device, effects }: Outcome, now: Millis): RequestResult {
    const relay = actor.relay === undefined ? undefined : device.parentId
    const view = () => toView(actor, now, device)
    const stateOf = (alert: Alert) =>
      displayedState(actor, alert, { device, occasion: this.#alerts.occasionAt(actor, device, now) })
    const via = wayOf(actor)?.via
    const changed = {
      before,
      device,
      view,
      via,
      otaVia: otaWayOf(actor)?.via,
      relay,
      displayedState: stateOf,
    }
    const result = this.#open.perform(effects, changed, now)
    if (device !== before && result.refusal === undefined) {
      this.#open.devices.set(device.id, device)
      if (before !== undefined) this.#alerts.changed(actor, { before, effects, now }, this)
    }
    if (result.isForgotten) this.#open.forget(device.id)
    return result
  }
}
