// A device as a row of the fleet's table.
import { FLEET_FLAGS } from '../../../schemas/fleet.ts'
import type { Millis } from '../../../schemas/ids.ts'
import { countOpenAlerts } from '../../domain/alert/alert-results.ts'
import { isOpen } from '../../domain/command/moves.ts'
import type { Command } from '../../domain/command/record.ts'
import { heldReason } from '../../domain/command/send-order.ts'
import { isFlapping } from '../../domain/device/flapping.ts'
import type { FleetLoad, FleetRow } from '../../domain/fleet/row.ts'
import { isUpdating } from '../../domain/ota/firmware-jobs.ts'
import { heldAt } from '../../domain/ota/tally.ts'
import { isInSync } from '../../domain/shadow/delta.ts'
import { type Actor, isConnected } from './actor.ts'
import { toFirmwareState } from './job-answers.ts'

const HOUR_MS = 3_600_000

export function toFleetRow(actor: Actor, now: Millis): FleetRow {
  const { device } = actor
  const { name, type, group, tags, parentId, status } = device
  const load = toLoad(actor, now)
  return {
    ...{ name, type, group, tags, parentId, status, load },
    firmware: device.firmwareVersion,
    flags: flagsOf(actor, load, now),
    since: device.statusSince,
  }
}

function flagsOf(actor: Actor, load: FleetLoad | undefined, now: Millis): number {
  let flags = 0
  if (isConnected(actor)) flags |= FLEET_FLAGS.connected
  if (isFlapping(actor.connects, now)) flags |= FLEET_FLAGS.flapping
  if (!isInSync(actor.device.shadow)) flags |= FLEET_FLAGS.outOfSync
  if ((load?.warning ?? 0) > 0) flags |= FLEET_FLAGS.warning
  if ((load?.critical ?? 0) > 0) flags |= FLEET_FLAGS.critical
  if (isSomethingHeld(actor, now)) flags |= FLEET_FLAGS.held
  return flags
}

/** Whether a command or a job waits for another reason than that the device is offline. */
function isSomethingHeld(actor: Actor, now: Millis): boolean {
  const { commands, firmware, status } = actor.device
  if (commands.length > 0) {
    const isBusy = isUpdating(firmware)
    if (commands.some((command) => heldReason(command, status, isBusy) !== undefined)) return true
  }
  if (firmware.jobs.length === 0) return false
  const state = toFirmwareState(actor, now)
  return firmware.jobs.some((job) => {
    const held = heldAt(job, state, now)
    return held !== undefined && held !== 'offline'
  })
}

/** Undefined for most devices, which have nothing open and no recent failure. */
function toLoad({ device: { alerts, commands } }: Actor, now: Millis): FleetLoad | undefined {
  if (alerts.open.length === 0 && commands.length === 0) return undefined
  let openCommands = 0
  const failedAt: number[] = []
  for (const command of commands) {
    if (isOpen(command.status)) openCommands++
    const at = failureOf(command)
    if (at !== undefined && at > now - HOUR_MS) failedAt.push(at)
  }
  const counts = countOpenAlerts(alerts)
  const isNothing = openCommands === 0 && failedAt.length === 0 && alerts.open.length === 0
  return isNothing ? undefined : { ...counts, openCommands, failedAt }
}

function failureOf({ status, completedAt, expiresAt }: Command): number | undefined {
  if (status === 'expired') return expiresAt
  return status === 'failed' || status === 'rejected' ? completedAt : undefined
}
