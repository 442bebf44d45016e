// How the alerts of rules about the fleet are stored: a document per rule and group.

import type { FleetInstance } from '../../domain/alert/fleet-instance.ts'
import { newPackr } from '../../domain/packing.ts'
import { shortHash } from '../../domain/short-hash.ts'
import type { Documents, SavedDocument } from '../../ports/documents.ts'

const FLEET_ALERTS = 'alert-fleet'
const packr = newPackr()

export function fleetDocument(instance: FleetInstance): SavedDocument {
  return { collection: FLEET_ALERTS, id: idOf(instance), bytes: Uint8Array.from(packr.pack(instance)) }
}

export function fleetDocumentRemoval(instance: FleetInstance): SavedDocument {
  return { collection: FLEET_ALERTS, id: idOf(instance), bytes: undefined }
}

export async function readFleetInstances(documents: Documents): Promise<readonly FleetInstance[]> {
  // Written by `fleetDocument`.
  return (await documents.list(FLEET_ALERTS)).map(({ bytes }) => packr.unpack(bytes) as FleetInstance)
}

/** The key of an instance, in memory and in the store. */
export function fleetKey(ruleId: string, group: string): string {
  return `${ruleId} ${group}`
}

function idOf({ ruleId, group }: FleetInstance): string {
  return shortHash(fleetKey(ruleId, group))
}
