// Keeps the table of the whole fleet on one node, by asking every shard what has changed.
//
// - While nobody wants the table, no questions are asked. One question runs at a time, so answers come in order.
import type { FleetVersions } from '../../domain/fleet/row.ts'
import { FleetTable } from '../../domain/fleet/table.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { FleetPort, LatestQuery, LatestValues } from '../../ports/fleet.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { AnswerOf } from '../shard/protocol.ts'

export interface LiveFleetPorts {
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'every'>
  readonly id: () => string
  readonly ask: (
    known: FleetVersions,
  ) => Promise<AnswerOf<{ readonly kind: 'fleet'; readonly known: FleetVersions }>>
  readonly latest: FleetPort['latest']
  readonly deploymentsActive: () => number
  readonly failed: (error: unknown) => void
}

type Listener = (table: FleetTable) => void

export class LiveFleet implements FleetPort {
  readonly #ports: LiveFleetPorts
  readonly #listeners = new Set<Listener>()
  #table: FleetTable | undefined
  #known: FleetVersions = {}
  /** When the table had which version, as far back as any reader needs. */
  #past: { readonly at: number; readonly version: number }[] = []
  #pulledAt = Number.NEGATIVE_INFINITY
  #pulling: Promise<FleetTable> | undefined
  #stopPulling: (() => void) | undefined

  constructor(ports: LiveFleetPorts) {
    this.#ports = ports
  }

  async table(): Promise<FleetTable> {
    const isFresh = this.#ports.clock.ticks() - this.#pulledAt < LIMITS.fleetAgeMsMax
    return isFresh && this.#table !== undefined ? this.#table : await this.#pull()
  }

  watch(listener: Listener): () => void {
    this.#listeners.add(listener)
    this.#stopPulling ??= this.#ports.schedule.every(LIMITS.fleetPullEveryMs, () => void this.#tick())
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.close()
    }
  }

  versionBefore(ageMs: number): number {
    const until = this.#ports.clock.ticks() - ageMs
    const before = this.#past.findLast(({ at }) => at <= until) ?? this.#past[0]
    return before?.version ?? 0
  }

  latest(query: LatestQuery): Promise<readonly LatestValues[]> {
    return this.#ports.latest(query)
  }

  deploymentsActive(): number {
    return this.#ports.deploymentsActive()
  }

  close(): void {
    this.#stopPulling?.()
    this.#stopPulling = undefined
  }

  /** Never rejects. */
  async #tick(): Promise<void> {
    // The previous answer is still on its way.
    if (this.#pulling !== undefined) return
    try {
      this.#notify(await this.#pull())
    } catch (error) {
      // While partitions move there is no answer, and the next tick asks again.
      if (!(error instanceof Fault && error.retryable)) this.#ports.failed(error)
    }
  }

  #notify(table: FleetTable): void {
    for (const listener of this.#listeners)
      try {
        listener(table)
      } catch (error) {
        // A bug in one listener must not affect the others.
        this.#ports.failed(error)
      }
  }

  #pull(): Promise<FleetTable> {
    this.#pulling ??= this.#ask().finally(() => {
      this.#pulling = undefined
    })
    return this.#pulling
  }

  async #ask(): Promise<FleetTable> {
    const parts = await this.#ports.ask(this.#known)
    const table = this.#table ?? new FleetTable(this.#ports.id(), LIMITS.fleetMovesMax)
    table.applyParts(parts)
    this.#table = table
    this.#known = Object.fromEntries(parts.map(({ source, version }) => [source, version]))
    this.#pulledAt = this.#ports.clock.ticks()
    if (this.#past.length >= LIMITS.fleetRoundsMax) this.#past.shift()
    this.#past.push({ at: this.#pulledAt, version: table.version })
    return table
  }
}
