// The device states of the specification, as data: everything that decides whether a status may move is here.
// A missing cell is a refused move.
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'

/** Why a status moves. `silence` is also what a last will or a farewell says. */
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
    // The table of the specification lists no such move, its DELETE promises it: decided for DELETE.
    decommission: 'decommissioned',
  },
  offline: { heartbeat: 'online', maintain: 'maintenance', decommission: 'decommissioned' },
  // A silent robot in `error` stays in `error`: connectivity is told apart from status.
  error: { recovery: 'online', maintain: 'maintenance', decommission: 'decommissioned' },
  maintenance: { release: 'online', decommission: 'decommissioned' },
  decommissioned: {},
}

/** The cause that a person setting this status by hand stands for, from where the device is. */
const BY_HAND: Readonly<Partial<Record<DeviceStatus, readonly Cause[]>>> = {
  online: ['release', 'recovery'],
  maintenance: ['maintain'],
  decommissioned: ['decommission'],
}

export function causeByHand(from: DeviceStatus, to: string): Cause | undefined {
  const causes = Object.entries(BY_HAND).find(([status]) => status === to)?.[1] ?? []
  return causes.find((cause) => MOVES[from][cause] === to)
}

/** Whether a person may name this status at all; the others follow from what the device does. */
export const isByHand = (status: DeviceStatus): boolean => BY_HAND[status] !== undefined

/** The statuses a person may set from here, for the refusal's `allowed`. */
export function allowedByHand(from: DeviceStatus): readonly DeviceStatus[] {
  const moves = MOVES[from]
  return [moves.release ?? moves.recovery, moves.maintain, moves.decommission].filter(
    (status): status is DeviceStatus => status !== undefined,
  )
}
