// Counts of the fleet in memory. The real ones must be the same.
import { Millis } from '../../../../schemas/ids.ts'
import type { DeviceStatus } from '../../../../schemas/vocabulary.ts'
import type { CensusRow, FleetMoment } from '../../../domain/fleet/census.ts'
import { noCounts } from '../../../domain/fleet/selection.ts'
import { isInScope } from '../../../domain/group-scope.ts'
import type { TrendQuery } from '../../../ports/telemetry.ts'

export class MemoryCensus {
  /** Keyed by time, then by group and status. */
  readonly #counts = new Map<number, Map<string, CensusRow>>()

  insert(rows: readonly (CensusRow & { readonly at: number })[]): void {
    for (const { at, ...row } of rows) {
      const known = this.#counts.get(at) ?? new Map<string, CensusRow>()
      this.#counts.set(at, known.set(`${row.group} ${row.status}`, row))
    }
  }

  trend({ from, to, widthMs, within }: TrendQuery): readonly FleetMoment[] {
    const last = new Map<number, number>()
    for (const at of this.#counts.keys()) {
      const bucket = Math.floor(at / widthMs) * widthMs
      if (at >= from && at < to) last.set(bucket, Math.max(at, last.get(bucket) ?? 0))
    }
    return [...last]
      .sort(([a], [b]) => a - b)
      .flatMap(([bucket, at]) => {
        const rows = [...(this.#counts.get(at)?.values() ?? [])].filter(({ group }) =>
          within.every((subtrees) => isInScope(group === '' ? undefined : group, subtrees)),
        )
        if (rows.length === 0) return []
        const counts: Record<DeviceStatus, number> = noCounts()
        for (const { status, devices } of rows) counts[status] += devices
        return [{ at: Millis(bucket), counts }]
      })
  }
}
