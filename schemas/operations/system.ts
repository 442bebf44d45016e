// /system: the state of the service, for its operators.
import { API, type Operation } from '../operation.ts'
import { SystemBody } from '../system.ts'

export const getSystem = {
  method: 'GET',
  path: `${API}/system`,
  operationId: 'getSystem',
  tag: 'operations',
  access: ['admin'],
  scope: 'none',
  summary: 'Read how the service and its nodes are',
  description:
    'The figures of all nodes at once: partitions with their owners and lag, the log, rows on their way to ClickHouse, sockets, rates, and the samples of the metrics of each node.',
  replies: { 200: SystemBody },
} as const satisfies Operation
