// The fleet's table for tests of /ws: the test writes its rows, and says when it was looked at.
import { newRows, newSightings } from '../../../engine/domain/fleet/row.ts'
import { FleetTable } from '../../../engine/domain/fleet/table.ts'
import type { FleetPort, LatestQuery, LatestValues } from '../../../engine/ports/fleet.ts'
import { type DeviceId, Millis } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'

export interface FakeRow {
  readonly name?: string
  readonly group?: string
  readonly tags?: readonly string[]
  readonly status?: DeviceStatus
  readonly flags?: number
  readonly seenAt?: number
  readonly failedAt?: readonly number[]
}

export class FakeTable implements FleetPort {
  readonly content = new FleetTable('t', 1_000)
  readonly values = new Map<string, Readonly<Record<string, Json>>>()
  readonly asked: LatestQuery[] = []
  readonly #listeners = new Set<(table: FleetTable) => void>()
  readonly #past: { readonly at: number; readonly version: number }[] = []
  readonly #rows = new Map<string, FakeRow>()
  readonly #ticks: () => number
  #messages = 0

  constructor(ticks: () => number) {
    this.#ticks = ticks
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0
  }

  /** Changes rows; what is not named stays. */
  change(rows: Readonly<Record<string, FakeRow>>): void {
    const changed = newRows()
    for (const [id, about] of Object.entries(rows)) {
      const row = { ...this.#rows.get(id), ...about }
      this.#rows.set(id, row)
      changed.id.push(id as DeviceId)
      changed.rev.push(1)
      changed.seenAt.push(row.seenAt ?? 0)
      changed.name.push(row.name ?? id)
      changed.type.push('mqtt_device')
      changed.group.push(row.group)
      changed.tags.push(row.tags ?? [])
      changed.parentId.push(undefined)
      changed.firmware.push(undefined)
      changed.status.push(row.status ?? 'online')
      changed.flags.push(row.flags ?? 0)
      changed.since.push(Millis(0))
      const load = { info: 0, warning: 0, critical: 0, openCommands: 1, failedAt: row.failedAt ?? [] }
      changed.load.push(row.failedAt === undefined ? undefined : load)
    }
    this.#messages += 10
    const counts = { messages: this.#messages, points: 0, lagMs: 0 }
    this.content.take([
      {
        source: 's',
        version: 1,
        rows: changed,
        sightings: newSightings(),
        gone: [],
        isWhole: false,
        ...counts,
      },
    ])
    this.#past.push({ at: this.#ticks(), version: this.content.version })
  }

  /** The next look at the table. */
  look(): void {
    for (const listener of this.#listeners) listener(this.content)
  }

  table = async () => this.content

  watch(listener: (table: FleetTable) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  versionBefore(ageMs: number): number {
    const until = this.#ticks() - ageMs
    return (this.#past.findLast(({ at }) => at <= until) ?? this.#past[0])?.version ?? 0
  }

  latest = async (query: LatestQuery): Promise<readonly LatestValues[]> => {
    this.asked.push(query)
    const id = [...this.values.keys()].filter((each) => query.deviceIds?.includes(each as DeviceId) ?? true)
    const values = query.metrics.map((metric) => id.map((each) => this.values.get(each)?.[metric] ?? null))
    return [{ id: id as DeviceId[], values, at: values.map((column) => column.map(() => 1)) }]
  }

  deploymentsActive = () => 2
}
