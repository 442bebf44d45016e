// Alerts as the API of any node uses them. The owners of devices answer about devices, and the leader about the fleet.
import { isFleetAlertId } from '../../domain/alert/alert-id.ts'
import { mergeAlertCounts, mergeMatches } from '../../domain/alert/alert-results.ts'
import type { AlertsPort } from '../../ports/alerts.ts'
import type { AlertBook } from '../alerts/alert-book.ts'
import { LEADER_PARTITION, type Nodes } from './nodes.ts'

export function routedAlerts({
  alertBook,
  nodes,
}: {
  readonly alertBook: Pick<AlertBook, 'settings'>
  readonly nodes: Pick<Nodes, 'runAtOwner' | 'ask'>
}): AlertsPort {
  return {
    rules: () => alertBook.settings.rules,
    silences: () => alertBook.settings.silences,
    change: (change) => nodes.runAtOwner(LEADER_PARTITION, { kind: 'alert_change', change }),
    async list(query) {
      if (query.alertId !== undefined && isFleetAlertId(query.alertId))
        return nodes.runAtOwner(LEADER_PARTITION, { kind: 'fleet_alerts', query })
      const ofDevices = nodes.ask({ kind: 'alerts', query })
      if (query.deviceId !== undefined) return ofDevices
      const ofFleet = nodes.runAtOwner(LEADER_PARTITION, { kind: 'fleet_alerts', query })
      return mergeMatches(await Promise.all([ofDevices, ofFleet]), query)
    },
    async counts(within) {
      const ofFleet = nodes.runAtOwner(LEADER_PARTITION, { kind: 'fleet_alert_counts', within })
      return mergeAlertCounts(await Promise.all([nodes.ask({ kind: 'alert_counts', within }), ofFleet]))
    },
    actOnFleet: (id, act, by) => nodes.runAtOwner(LEADER_PARTITION, { kind: 'fleet_alert_act', id, act, by }),
  }
}
