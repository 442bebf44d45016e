// A repair that has begun, for tests of the API.

import type { Repair, Repairs } from '../../engine/ports/repair.ts'
import { Millis } from '../../schemas/ids.ts'

export class FakeRepairs implements Repairs {
  #latest: Repair | undefined

  async start({ from = Millis(0), to = Millis(1_772_366_400_000) }: Parameters<Repairs['start']>[0]) {
    this.#latest = {
      id: 'repair-1',
      status: 'running',
      from,
      to,
      startedAt: to,
      updatedAt: to,
      logFrom: undefined,
      messages: 0,
      rows: 0,
      progress: 0,
      rollups: undefined,
      detail: undefined,
    } as const
    return this.#latest
  }

  latest(): Repair | undefined {
    return this.#latest
  }

  async close(): Promise<void> {}
}
