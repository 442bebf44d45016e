// The actors of a shard: one for each settled device, and one for each newcomer. A newcomer is registered by the open
// batch and has sent messages in it already, as happens when the log is read for a lost store.

import type { DeviceId, Micros, Millis } from '../../../schemas/ids.ts'
import type { Device } from '../../domain/device/record.ts'
import type { StoredDevice } from '../../ports/store.ts'
import { type Actor, type Actors, newActor, restoreVitals } from './actor.ts'
import type { ActorDeadlines } from './actor-deadlines.ts'
import { Compactor } from './compact.ts'
import type { OpenProposal } from './proposal.ts'
import type { ShardAlerts } from './shard-alerts.ts'
import type { ShardFleet } from './shard-fleet.ts'
import { decodeParts } from './stored-parts.ts'

/** The parts that are told about every change of an actor. */
interface Followers {
  readonly deadlines: ActorDeadlines
  readonly alerts: ShardAlerts
  readonly fleet: ShardFleet
}

export class Roster {
  readonly actors: Actors = new Map()
  readonly #newcomers = new Map<DeviceId, Actor>()
  readonly #compactor = new Compactor()
  readonly #followers: Followers

  constructor(followers: Followers) {
    this.#followers = followers
  }

  /** Adds a saved device. */
  load(stored: StoredDevice, bootAt: Micros, now: Millis): Actor {
    const { device, vitals } = stored
    const actor = this.#adopt(this.#newActor({ ...device, ...decodeParts(stored) }))
    if (vitals !== undefined) restoreVitals(actor, vitals, bootAt)
    this.#followers.alerts.fit(actor)
    this.#follow(actor, now)
    return actor
  }

  /** The actor for a message to this device, as the open batch leaves it. */
  of(id: DeviceId, open: OpenProposal): Actor | undefined {
    const known = open.gone.has(id)
      ? this.#newcomerFor(open.devices.get(id))
      : (this.actors.get(id) ?? this.#newcomers.get(id))
    const device = known === undefined ? open.devices.get(id) : undefined
    if (device === undefined) return known
    const newcomer = this.#newActor(device)
    this.#followers.alerts.fit(newcomer)
    this.#newcomers.set(id, newcomer)
    return newcomer
  }

  /** Called when the batch's proposal is saved: actors get its records. */
  settle(open: OpenProposal, now: Millis): void {
    for (const id of open.gone) this.#forget(id)
    for (const device of open.devices.values()) {
      const known = this.actors.get(device.id) ?? this.#newcomerFor(device)
      const actor = this.#adopt(known ?? this.#newActor(device))
      actor.device = this.#compactor.compact(device)
      if (known === undefined) this.#followers.alerts.fit(actor)
      this.#follow(actor, now)
    }
    this.#newcomers.clear()
  }

  /** A device that was registered, forgotten and registered again within a batch is another device. */
  #newcomerFor(device: Device | undefined): Actor | undefined {
    const newcomer = device && this.#newcomers.get(device.id)
    return newcomer?.device.createdAt === device?.createdAt ? newcomer : undefined
  }

  #newActor(device: Device): Actor {
    return newActor(this.#compactor.compact(device), this.#followers.deadlines.claim())
  }

  #adopt(actor: Actor): Actor {
    this.actors.set(actor.device.id, actor)
    this.#followers.deadlines.adopt(actor)
    return actor
  }

  #follow(actor: Actor, now: Millis): void {
    const { deadlines, alerts, fleet } = this.#followers
    alerts.settled(actor, now)
    deadlines.schedule(actor)
    fleet.note(actor)
  }

  #forget(id: DeviceId): void {
    const actor = this.actors.get(id)
    if (actor === undefined || !this.actors.delete(id)) return
    const { deadlines, alerts, fleet } = this.#followers
    deadlines.release(actor)
    alerts.forget(actor)
    fleet.forget(actor)
  }
}
