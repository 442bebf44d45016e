// /telemetry/repair: an admin has lost rows read again from the log.
import { API, type Operation } from '../operation.ts'
import { NewRepairBody, RepairBody } from '../repair.ts'

const SHARED = {
  path: `${API}/telemetry/repair`,
  tag: 'telemetry',
  access: ['admin'],
  scope: 'none',
} as const

export const startRepair = {
  ...SHARED,
  method: 'POST',
  operationId: 'startRepair',
  summary: 'Read lost rows again from the log, beside the traffic',
  description:
    'Inserts into ClickHouse what the log still has: points, texts and logs of devices. A row that is there already stays as it is. Events, shadow changes, commands and the audit are not in the log in that form and do not come back. One repair runs at a time: a new one takes the place of an earlier one.',
  body: NewRepairBody,
  bodyOptional: true,
  replies: { 202: RepairBody },
} as const satisfies Operation

export const getRepair = {
  ...SHARED,
  method: 'GET',
  operationId: 'getRepair',
  summary: 'How far the latest repair is',
  replies: { 200: RepairBody },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation
