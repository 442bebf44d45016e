// What a person who cannot see the counts change should hear: how they differ from what was said before. Pure.
import type { FleetStats } from '../../../../schemas/ws.ts'

export type CountChange = 'offline' | 'error' | 'online' | 'critical'
type Counts = Pick<FleetStats, 'by_status' | 'alerts'>

/** Worst first. Devices that are only gone from the fleet are no news. */
export function countChanges(
  before: Counts,
  now: Counts,
): readonly (readonly [change: CountChange, n: number])[] {
  const more = (status: 'offline' | 'error' | 'online') => now.by_status[status] - before.by_status[status]
  const critical = now.alerts.critical - before.alerts.critical
  // A new device is online without having been away.
  const back = Math.min(more('online'), -more('offline') - more('error'))
  const all = [
    ['critical', critical],
    ['error', more('error')],
    ['offline', more('offline')],
    ['online', back],
  ] as const
  return all.filter(([, n]) => n > 0)
}
