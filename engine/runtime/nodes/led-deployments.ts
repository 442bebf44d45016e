// Deployments as the API of any node uses them. The leader answers.
import type { Deployments } from '../../ports/deployments.ts'
import { LEADING, type Nodes } from './nodes.ts'

export function ledDeployments(nodes: Pick<Nodes, 'at'>, news: Pick<Deployments, 'listen'>): Deployments {
  return {
    listen: (listener) => news.listen(listener),
    create: (request) => nodes.at(LEADING, { kind: 'deployment_create', request }),
    plan: (request) => nodes.at(LEADING, { kind: 'deployment_plan', request }),
    list: (deviceId) => nodes.at(LEADING, { kind: 'deployment_list', deviceId }),
    get: (id) => nodes.at(LEADING, { kind: 'deployment_get', id }),
    act: (id, action, ifRevision) => nodes.at(LEADING, { kind: 'deployment_act', id, action, ifRevision }),
    members: (id, query) => nodes.at(LEADING, { kind: 'deployment_members', id, query }),
  }
}
