// Answers questions about firmware.
import type { DeploymentId, Millis } from '../../../schemas/ids.ts'
import type { AlertSeverity } from '../../../schemas/vocabulary.ts'
import type { Alerts } from '../../domain/alert/alerts-part.ts'
import { type FirmwareState, type JobTally, Tallies } from '../../domain/ota/tally.ts'
import { type Actor, type Actors, isAway, takesJobs } from './actor.ts'
import { unmetBy } from './preconditions.ts'

export function toFirmwareState(actor: Actor, now: Millis): FirmwareState {
  const { id: deviceId, firmware, firmwareVersion, status, parentId } = actor.device
  return {
    deviceId,
    firmware,
    firmwareVersion,
    status,
    parentId,
    isConnected: !isAway(actor, now),
    takesOta: takesJobs(actor, now),
    unmet: unmetBy(actor),
    alertsAt: alertsAt(actor.device.alerts),
  }
}

/** When the newest alert of each severity fired, even if it is over. */
function alertsAt({ open, resolved }: Alerts): FirmwareState['alertsAt'] {
  const newest: Partial<Record<AlertSeverity, Millis>> = {}
  for (const { highestSeverity: severity, firedAt } of [...open, ...resolved])
    if (firedAt > (newest[severity] ?? 0)) newest[severity] = firedAt
  return newest
}

/** Counts jobs by looking at all devices. These are few enough, and no counts have to be kept up to date. */
export function talliesOf(actors: Actors, ids: readonly DeploymentId[], now: Millis): readonly JobTally[] {
  const tallies = new Tallies(ids, now)
  for (const actor of actors.values())
    if (actor.device.firmware.jobs.length > 0)
      tallies.add(toFirmwareState(actor, now), actor.connectionSince ?? 0)
  return tallies.all()
}
