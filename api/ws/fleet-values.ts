// The latest values of the metrics that subscriptions of the channel `fleet` display, as known to this node. All devices
// are queried at once, but only those heard since the last query are read.
//
// - Versions count the queries. The version of a value is that of the query that returned it.
import type { FleetPort, FleetTable } from '../../engine/ports/fleet.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import type { Json } from '../../schemas/json.ts'

interface Column {
  readonly values: Json[]
  /** Version of the latest change of each place. */
  readonly versions: number[]
}

/** Messages in flight during a query were heard before it. */
const OVERLAP_MS = 2_000

export class FleetValues {
  readonly #fleet: Pick<FleetPort, 'latest'>
  #columns = new Map<string, Column>()
  #heardAfter = 0
  #version = 0
  #isQuerying = false

  constructor(fleet: Pick<FleetPort, 'latest'>) {
    this.#fleet = fleet
  }

  get version(): number {
    return this.#version
  }

  /** Queries these metrics on these devices; undefined means all. Does nothing while another query is running. */
  async query(
    table: FleetTable,
    query: {
      readonly metrics: readonly string[]
      readonly deviceIds: readonly DeviceId[] | undefined
      readonly now: number
    },
  ): Promise<void> {
    if (this.#isQuerying) return
    this.#isQuerying = true
    try {
      const { metrics, deviceIds, now } = query
      const isNew = metrics.some((metric) => !this.#columns.has(metric))
      for (const metric of this.#columns.keys()) if (!metrics.includes(metric)) this.#columns.delete(metric)
      // Named devices are few, and others may have been named before.
      const heardAfter = isNew || deviceIds !== undefined ? 0 : this.#heardAfter
      const parts = await this.#fleet.latest({ deviceIds, metrics, heardAfter })
      // After a query for named devices, all others have to be queried again.
      this.#heardAfter = deviceIds === undefined ? now - OVERLAP_MS : 0
      const version = this.#version + 1
      for (const { id, values } of parts)
        metrics.forEach((metric, m) => {
          const column = this.#columnOf(metric)
          id.forEach((deviceId, i) => {
            const place = table.placeOf(deviceId)
            if (place !== undefined) setValue(column, place, values[m]?.[i] ?? null, version)
          })
        })
      this.#version = version
    } finally {
      this.#isQuerying = false
    }
  }

  /** The places with a value of one of these metrics that changed after this version. */
  changedSince(metrics: readonly string[], version: number): readonly number[] {
    const changed = new Set<number>()
    for (const metric of metrics)
      this.#columns.get(metric)?.versions.forEach((at, place) => {
        if (at > version) changed.add(place)
      })
    return [...changed]
  }

  valueOf(metric: string, place: number): Json {
    return this.#columns.get(metric)?.values[place] ?? null
  }

  #columnOf(metric: string): Column {
    const known = this.#columns.get(metric)
    if (known !== undefined) return known
    const fresh: Column = { values: [], versions: [] }
    this.#columns.set(metric, fresh)
    return fresh
  }
}

function setValue({ values, versions }: Column, place: number, value: Json, version: number): void {
  while (values.length <= place) {
    values.push(null)
    versions.push(0)
  }
  const known = values[place]
  if (known === value) return
  if (typeof value === 'object' && JSON.stringify(known) === JSON.stringify(value)) return
  values[place] = value
  versions[place] = version
}
