// Deltas that wait for the page. Several of one device become one with the latest values, so that a tab which was hidden
// for an hour gets each device once (D5).
import type { FleetDelta } from '../../../../schemas/ws.ts'

const COLUMNS = [
  'status',
  'flags',
  'since_ms',
  'last_seen_ms',
  'name',
  'type',
  'group',
  'tags',
  'parent_id',
  'firmware',
] as const
type Patch = { rev: number } & Partial<Record<(typeof COLUMNS)[number], unknown>>

export class PendingDeltas {
  readonly #patches = new Map<string, Patch>()
  /** Keyed by device: the `rev` at which it went. */
  readonly #removed = new Map<string, number>()

  get isEmpty(): boolean {
    return this.#patches.size === 0 && this.#removed.size === 0
  }

  add(delta: FleetDelta): void {
    delta.removed?.forEach((id, i) => {
      this.#patches.delete(id)
      this.#removed.set(id, delta.removed_rev?.[i] ?? Number.MAX_SAFE_INTEGER)
    })
    const present = COLUMNS.filter((column) => delta[column] !== undefined)
    delta.device_id.forEach((id, i) => {
      const patch: Patch = this.#patches.get(id) ?? { rev: 0 }
      patch.rev = Math.max(patch.rev, delta.rev[i] ?? 0)
      for (const column of present) patch[column] = delta[column]?.[i]
      this.#patches.set(id, patch)
    })
  }

  /** Gives everything that waits, as frames of devices with the same columns, and forgets it. */
  take(): readonly FleetDelta[] {
    const frames = new Map<string, Record<string, unknown[]>>()
    for (const [id, patch] of this.#patches) {
      const present = ['rev', ...COLUMNS.filter((column) => column in patch)] as (keyof Patch)[]
      const key = present.join()
      let frame = frames.get(key)
      if (frame === undefined) {
        frame = Object.fromEntries(['device_id', ...present].map((name) => [name, []]))
        frames.set(key, frame)
      }
      frame['device_id']?.push(id)
      for (const name of present) frame[name]?.push(patch[name])
    }
    const removed = [...this.#removed.keys()]
    const removed_rev = [...this.#removed.values()]
    this.#patches.clear()
    this.#removed.clear()
    // The columns were copied from frames of this shape.
    const made = [...frames.values()] as unknown as FleetDelta[]
    return removed.length === 0 ? made : [{ device_id: [], rev: [], removed, removed_rev }, ...made]
  }

  clear(): void {
    this.#patches.clear()
    this.#removed.clear()
  }
}
