// The services of the leader.

import type { AlertDesk } from '../alerts/alert-desk.ts'
import type { FleetAlerts } from '../alerts/fleet-alerts.ts'
import type { Notifications } from '../alerts/notifications.ts'
import type { Broadcasts } from '../broadcasts/broadcasts.ts'
import type { DeploymentDesk } from '../deployments/deployment-desk.ts'
import type { CensusTaker } from '../fleet/census-taker.ts'
import type { DeviceCopier } from '../fleet/device-copier.ts'
import type { FirmwareDesk } from '../ota/firmware-desk.ts'
import type { PurgeDesk } from '../purges/purge-desk.ts'

/** A service that only the leader runs. It begins with what earlier leaders have saved. */
export interface LeaderService {
  open(): void | Promise<void>
  close(): void
}

export interface LeaderServices {
  readonly broadcasts: Broadcasts
  readonly firmware: FirmwareDesk
  readonly deployments: DeploymentDesk
  readonly notifications: Notifications
  readonly alerts: AlertDesk
  readonly fleetAlerts: FleetAlerts
  readonly census: CensusTaker
  readonly deviceCopies: DeviceCopier
  readonly purges: PurgeDesk
}
