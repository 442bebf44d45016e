// What a shard contributes to the fleet's table: the rows that changed since somebody last asked.
//
// - While nobody asks, no changes are noted, and the hot path costs nothing. The first question after a pause is answered
//   with every row.
// - The last-heard times of devices are sampled: every few seconds the shard looks through its devices once.
// SF3. A row's `rev` is a time in tenths of a second. It is incremented if the clock stands still, so it grows even when
//      the owner changes.

import type { DeviceId, Millis } from '../../../schemas/ids.ts'
import { type FleetPart, type FleetVersions, newRows, newSightings } from '../../domain/fleet/row.ts'
import { LIMITS } from '../../limits.ts'
import type { Actor, Actors } from './actor.ts'
import { toFleetRow } from './fleet-row.ts'
import type { ShardCounts } from './protocol.ts'

const REV_SINCE = Date.UTC(2026, 0, 1)
const REV_STEP_MS = 100

type RoundContent = Pick<FleetPart, 'rows' | 'sightings' | 'gone' | 'isWhole'>

interface Round {
  readonly version: number
  readonly moved: readonly Actor[]
  readonly seen: readonly Actor[]
  readonly gone: readonly DeviceId[]
}

export class ShardFleet {
  readonly #source: string
  // Both are indexed by the actors' slots.
  readonly #revs: number[] = []
  readonly #seenAt: number[] = []
  #moved = new Set<Actor>()
  #gone: DeviceId[] = []
  /** Actors in rounds whose devices are gone since. */
  readonly #removed = new WeakSet<Actor>()
  #rounds: Round[] = []
  #kept = 0
  /** An asker that knows only versions before this one gets all rows. */
  #oldest = 0
  #version = 0
  #stamp = 0
  #sampledAt = 0
  #watchedUntil = 0
  #messages = 0
  #points = 0
  #behindSince: number | undefined

  constructor(source: string) {
    this.#source = source
  }

  /** Called when the device's record or its connection changed. */
  note(actor: Actor): void {
    if (this.#watchedUntil > 0) this.#moved.add(actor)
  }

  /** Called when the device is gone. */
  forget(actor: Actor): void {
    if (this.#watchedUntil === 0) return
    this.#moved.delete(actor)
    this.#removed.add(actor)
    this.#gone.push(actor.device.id)
  }

  count({ stored, refused, ignored, points }: ShardCounts): void {
    this.#messages += stored + refused + ignored
    this.#points += points
  }

  /** `reachedAt`: receive time of the last message read, if there are unread ones. */
  behind(reachedAt: number | undefined): void {
    this.#behindSince = reachedAt
  }

  /** Forgets all notes once nobody has asked for a long time. */
  stopIfUnwatched(now: Millis): void {
    if (this.#watchedUntil === 0 || now < this.#watchedUntil) return
    this.#watchedUntil = 0
    this.#moved.clear()
    this.#gone = []
    this.#rounds = []
    this.#kept = 0
  }

  answer(actors: Actors, known: FleetVersions, now: Millis): FleetPart {
    if (this.#watchedUntil === 0) this.#begin(actors, now)
    else this.#gather(actors, now)
    this.#watchedUntil = now + LIMITS.fleetWatchedMs
    const since = known[this.#source] ?? -1
    return {
      source: this.#source,
      version: this.#version,
      ...(since < this.#oldest ? this.#whole(actors, now) : this.#since(since, now)),
      messages: this.#messages,
      points: this.#points,
      lagMs: this.#behindSince === undefined ? 0 : Math.max(0, Math.round(now - this.#behindSince)),
    }
  }

  #begin(actors: Actors, now: Millis): void {
    this.#oldest = ++this.#version
    this.#sampledAt = now
    const rev = this.#nextStamp(now)
    for (const actor of actors.values()) this.#mark(actor, rev)
  }

  #gather(actors: Actors, now: Millis): void {
    const moved = this.#moved
    const seen: Actor[] = []
    const rev = this.#nextStamp(now)
    this.#moved = new Set()
    for (const actor of moved) this.#mark(actor, rev)
    if (now - this.#sampledAt >= LIMITS.fleetSampleEveryMs) {
      this.#sampledAt = now
      for (const actor of actors.values()) {
        if (actor.heardAt === this.#seenAt[actor.slot]) continue
        this.#mark(actor, rev)
        seen.push(actor)
      }
    }
    const gone = this.#gone
    this.#gone = []
    if (moved.size + seen.length + gone.length === 0) return
    this.#rounds.push({ version: ++this.#version, moved: [...moved], seen, gone })
    this.#kept += moved.size + seen.length + gone.length
    this.#trim(actors.size)
  }

  #mark(actor: Actor, rev: number): void {
    this.#revs[actor.slot] = rev
    this.#seenAt[actor.slot] = actor.heardAt
  }

  /** Drops the oldest rounds. Sending all rows is cheaper than a long list of changes. */
  #trim(devices: number): void {
    while (this.#rounds.length > LIMITS.fleetRoundsMax || this.#kept > 2 * devices + LIMITS.fleetRoundsMax) {
      const first = this.#rounds.shift()
      if (first === undefined) return
      this.#oldest = first.version
      this.#kept -= first.moved.length + first.seen.length + first.gone.length
    }
  }

  #whole(actors: Actors, now: Millis): RoundContent {
    const rows = newRows()
    for (const actor of actors.values()) this.#addRow(rows, actor, now)
    return { rows, sightings: newSightings(), gone: [], isWhole: true }
  }

  #since(since: number, now: Millis): RoundContent {
    const [moved, seen] = [new Set<Actor>(), new Set<Actor>()]
    const gone: DeviceId[] = []
    for (const round of this.#rounds) {
      if (round.version <= since) continue
      for (const actor of round.moved) if (!this.#removed.has(actor)) moved.add(actor)
      for (const actor of round.seen) if (!this.#removed.has(actor)) seen.add(actor)
      gone.push(...round.gone)
    }
    const [rows, sightings] = [newRows(), newSightings()]
    for (const actor of moved) this.#addRow(rows, actor, now)
    for (const actor of seen) {
      if (moved.has(actor)) continue
      sightings.id.push(actor.device.id)
      sightings.rev.push(this.#revs[actor.slot] ?? 0)
      sightings.seenAt.push(this.#seenAt[actor.slot] ?? 0)
    }
    return { rows, sightings, gone, isWhole: false }
  }

  #addRow(rows: FleetPart['rows'], actor: Actor, now: Millis): void {
    const row = toFleetRow(actor, now)
    rows.id.push(actor.device.id)
    rows.rev.push(this.#revs[actor.slot] ?? 0)
    rows.seenAt.push(this.#seenAt[actor.slot] ?? 0)
    rows.name.push(row.name)
    rows.type.push(row.type)
    rows.group.push(row.group)
    rows.tags.push(row.tags)
    rows.parentId.push(row.parentId)
    rows.firmware.push(row.firmware)
    rows.status.push(row.status)
    rows.flags.push(row.flags)
    rows.since.push(row.since)
    rows.load.push(row.load)
  }

  #nextStamp(now: Millis): number {
    this.#stamp = Math.max(this.#stamp + 1, Math.floor((now - REV_SINCE) / REV_STEP_MS)) // SF3
    return this.#stamp
  }
}
