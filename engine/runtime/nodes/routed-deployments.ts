// Deployments as the API of any node uses them. The leader answers.
import type { Deployments } from '../../ports/deployments.ts'
import { LEADER_PARTITION, type Nodes } from './nodes.ts'

export function routedDeployments(
  nodes: Pick<Nodes, 'runAtOwner'>,
  events: Pick<Deployments, 'listen'>,
): Deployments {
  return {
    listen: (listener) => events.listen(listener),
    create: (request) => nodes.runAtOwner(LEADER_PARTITION, { kind: 'deployment_create', request }),
    plan: (request) => nodes.runAtOwner(LEADER_PARTITION, { kind: 'deployment_plan', request }),
    list: (deviceId) => nodes.runAtOwner(LEADER_PARTITION, { kind: 'deployment_list', deviceId }),
    get: (id) => nodes.runAtOwner(LEADER_PARTITION, { kind: 'deployment_get', id }),
    act: (id, action, ifRevision) =>
      nodes.runAtOwner(LEADER_PARTITION, { kind: 'deployment_act', id, action, ifRevision }),
    members: (id, query) => nodes.runAtOwner(LEADER_PARTITION, { kind: 'deployment_members', id, query }),
  }
}
