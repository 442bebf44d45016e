// /telemetry/repair: restores lost rows from the log.
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
  summary: 'Restore lost rows from the log while the service runs',
  description:
    'Inserts the points, texts and log lines that the log still has into ClickHouse. Rows that are there already do not change. Events, shadow changes, commands and audit entries cannot be read again from the log and stay lost. Only one repair runs at a time, and a new one replaces the one before.',
  body: NewRepairBody,
  bodyOptional: true,
  replies: { 202: RepairBody },
} as const satisfies Operation

export const getRepair = {
  ...SHARED,
  method: 'GET',
  operationId: 'getRepair',
  summary: 'Read the progress of the latest repair',
  replies: { 200: RepairBody },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation
