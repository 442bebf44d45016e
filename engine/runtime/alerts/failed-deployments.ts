// The failed deployments that the leader knows, and which devices they are about.
import type { DeploymentId, DeviceId } from '../../../schemas/ids.ts'
import type { IsMember } from '../../domain/alert/target.ts'
import { type DeploymentFailure, failureOf } from '../../domain/ota/deployment-failure.ts'
import type { DeploymentState } from '../../ports/deployments.ts'
import type { Directory } from '../../ports/store.ts'

export interface FailedDeployments {
  all(): readonly DeploymentFailure[]
  /** Whether a device of the deployment is a member of a rule's target. */
  isCovered(failure: DeploymentFailure, isMember: IsMember): Promise<boolean>
}

export function failedDeployments({
  list,
  deviceIdsOf,
  devices,
}: {
  readonly list: () => readonly DeploymentState[]
  readonly deviceIdsOf: (id: DeploymentId) => Promise<readonly DeviceId[]>
  readonly devices: Pick<Directory, 'get'>
}): FailedDeployments {
  return {
    all: () => list().flatMap(({ deployment }) => failureOf(deployment) ?? []),
    async isCovered({ deploymentId }, isMember) {
      return (await deviceIdsOf(deploymentId)).some((id) => {
        const device = devices.get(id)
        return device !== undefined && isMember(device)
      })
    },
  }
}
