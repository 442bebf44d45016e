// How deployments are stored: a document each, a second one for their members, and one for the grants in flight.
import type { DeploymentId } from '../../../schemas/ids.ts'
import type { Deployment, Members } from '../../domain/ota/deployment.ts'
import type { Grant } from '../../domain/ota/grant-plan.ts'
import { newPackr } from '../../domain/packing.ts'
import type { Documents, SavedDocument } from '../../ports/documents.ts'

export const DEPLOYMENTS = 'deployments'
const MEMBERS = 'deployment-members'
const GRANTS = 'deployment-grants'
const GRANTS_ID = 'open'
const packr = newPackr()

export function deploymentDocument(deployment: Deployment): SavedDocument {
  return { collection: DEPLOYMENTS, id: deployment.id, bytes: packr.pack(deployment) }
}

export function membersDocument(id: DeploymentId, members: Members): SavedDocument {
  return { collection: MEMBERS, id, bytes: packr.pack(members) }
}

export function grantsDocument(grants: readonly Grant[]): SavedDocument {
  return { collection: GRANTS, id: GRANTS_ID, bytes: grants.length === 0 ? undefined : packr.pack(grants) }
}

export function documentRemovals(id: DeploymentId): readonly SavedDocument[] {
  return [
    { collection: DEPLOYMENTS, id, bytes: undefined },
    { collection: MEMBERS, id, bytes: undefined },
  ]
}

// Each was written by the function above of the same name.

export async function readDeployments(documents: Documents): Promise<readonly Deployment[]> {
  return (await documents.list(DEPLOYMENTS)).map(({ bytes }) => packr.unpack(bytes) as Deployment)
}

export async function readDeployment(
  documents: Documents,
  id: DeploymentId,
): Promise<Deployment | undefined> {
  const bytes = await documents.read(DEPLOYMENTS, id)
  return bytes === undefined ? undefined : (packr.unpack(bytes) as Deployment)
}

export async function readMembers(documents: Documents, id: DeploymentId): Promise<Members | undefined> {
  const bytes = await documents.read(MEMBERS, id)
  return bytes === undefined ? undefined : (packr.unpack(bytes) as Members)
}

export async function readGrants(documents: Documents): Promise<readonly Grant[]> {
  const bytes = await documents.read(GRANTS, GRANTS_ID)
  return bytes === undefined ? [] : (packr.unpack(bytes) as readonly Grant[])
}
