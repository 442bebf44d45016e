// The device states of the specification, as data. Everything that decides whether a status may move is in this file: a
// cause without a cell in `MOVES` moves nothing.
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'

/** Why a status moves. A last will and a farewell count as `silence`. */
export const CAUSES = [
  'heartbeat',
  'silence',
  'fault',
  'recovery',
  'maintain',
  'release',
  'decommission',
] as const
export type Cause = (typeof CAUSES)[number]

export const MOVES: Readonly<Record<DeviceStatus, Readonly<Partial<Record<Cause, DeviceStatus>>>>> = {
  provisioning: { heartbeat: 'online', decommission: 'decommissioned' },
  online: {
    silence: 'offline',
    fault: 'error',
    maintain: 'maintenance',
    // The specification's table lacks this move, but its DELETE promises it.
    decommission: 'decommissioned',
  },
  offline: { heartbeat: 'online', maintain: 'maintenance', decommission: 'decommissioned' },
  // A silent device stays in `error`: connectivity is reported apart from the status.
  error: { recovery: 'online', maintain: 'maintenance', decommission: 'decommissioned' },
  maintenance: { release: 'online', decommission: 'decommissioned' },
  decommissioned: {},
}

/** The causes that a person can mean by setting this status. Other statuses only result from what the device does. */
const CAUSES_BY_HAND: Readonly<Partial<Record<DeviceStatus, readonly Cause[]>>> = {
  online: ['release', 'recovery'],
  maintenance: ['maintain'],
  decommissioned: ['decommission'],
}

export type MoveByHand =
  /** The device has this status already. */
  | { readonly kind: 'none' }
  | { readonly kind: 'move'; readonly cause: Cause }
  | { readonly kind: 'refused'; readonly allowed: readonly DeviceStatus[] }

/** What it means if a person sets the status `to` on a device in the status `from`. */
export function moveByHand(from: DeviceStatus, to: string): MoveByHand {
  const causes = Object.entries(CAUSES_BY_HAND).find(([status]) => status === to)?.[1] ?? []
  if (from === to && causes.length > 0) return { kind: 'none' }
  const moves = MOVES[from]
  const cause = causes.find((each) => moves[each] === to)
  if (cause !== undefined) return { kind: 'move', cause }
  const allowed = [moves.release ?? moves.recovery, moves.maintain, moves.decommission]
  return { kind: 'refused', allowed: allowed.filter((status) => status !== undefined) }
}

/** A final status never changes again, and no event changes the record of a device in it. */
export function isFinal(status: DeviceStatus): boolean {
  return status === 'decommissioned'
}
