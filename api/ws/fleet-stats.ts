// The event `fleet.stats`: totals of the visible devices, and the rates of the whole service.
import { noCounts } from '../../engine/domain/fleet/selection.ts'
import type { FleetTable } from '../../engine/ports/fleet.ts'
import type { FleetStats } from '../../schemas/ws.ts'
import type { Scope } from './subscription.ts'

const HOUR_MS = 3_600_000

export interface Rates {
  readonly messagesPerSec: number
  readonly pointsPerSec: number
  readonly lagMs: number
}

/** Computes rates from counters, between two samples. */
export class RateMeter {
  #before: { readonly at: number; readonly messages: number; readonly points: number } | undefined
  #rates: Rates = { messagesPerSec: 0, pointsPerSec: 0, lagMs: 0 }

  sample(table: FleetTable, at: number): Rates {
    const { messages, points, lagMs } = table.totals()
    const before = this.#before
    this.#before = { at, messages, points }
    if (before === undefined || at <= before.at) return this.#rates
    // Counters start again at zero when shards change owners.
    const perSec = (now: number, then: number) =>
      Math.max(0, Math.round(((now - then) * 10_000) / (at - before.at)) / 10)
    this.#rates = {
      messagesPerSec: perSec(messages, before.messages),
      pointsPerSec: perSec(points, before.points),
      lagMs,
    }
    return this.#rates
  }
}

export function fleetStats(
  table: FleetTable,
  places: Iterable<number>,
  about: {
    readonly scope: Scope
    readonly rates: Rates
    readonly deploymentsActive: number
    readonly now: number
  },
): FleetStats {
  const { scope, rates, now } = about
  const byStatus = noCounts()
  const commands = { open: 0, failed_1h: 0 }
  const alerts = { info: 0, warning: 0, critical: 0 }
  for (const place of places) {
    const row = table.rows[place]
    if (row === undefined) continue
    byStatus[row.status]++
    const { load } = row
    if (load === undefined) continue
    commands.open += load.openCommands
    for (const at of load.failedAt) if (at > now - HOUR_MS) commands.failed_1h++
    alerts.info += load.info
    alerts.warning += load.warning
    alerts.critical += load.critical
  }
  const seesAll = scope.groups === undefined
  const operates = scope.role !== 'viewer'
  return {
    by_status: byStatus,
    messages_per_sec: seesAll ? rates.messagesPerSec : null,
    points_per_sec: seesAll ? rates.pointsPerSec : null,
    ingest_lag_ms: seesAll ? rates.lagMs : null,
    commands: operates ? commands : null,
    alerts,
    deployments_active: seesAll && operates ? about.deploymentsActive : null,
  }
}
