// A deployment to change in tests.
import { DeploymentId, FirmwareId, Millis } from '../../../../schemas/ids.ts'
import { type Deployment, type DeploymentSpec, deadlineOf } from '../deployment.ts'

export const spec = (more: Partial<DeploymentSpec> = {}): DeploymentSpec => ({
  name: undefined,
  target: { type: 'all', value: null },
  strategy: 'rolling',
  maxConcurrent: 10,
  ratePerMinute: undefined,
  ramp: undefined,
  rollbackOnFailure: true,
  rollbackScope: 'failed',
  canary: undefined,
  stages: undefined,
  abort: { minFinished: 5, failurePercent: 20, failureCount: undefined },
  timeouts: { downloadSec: 1_800, installSec: 900, rebootSec: 600, confirmSec: 300 },
  retry: { max: 2, backoffSec: [60, 300, 900], on: ['timed_out', 'download_failed'] },
  proof: 'reconnect',
  stableSec: 10,
  offlineTtlSec: 604_800,
  startAt: undefined,
  windows: [],
  preconditions: undefined,
  force: false,
  supersede: false,
  ...more,
})

export const CANARY: NonNullable<DeploymentSpec['canary']> = {
  percent: 10,
  count: undefined,
  devices: undefined,
  soakSec: 300,
  successPercent: 100,
  gate: { maxOffline: 0, inError: 0, alerts: undefined, metrics: [] },
  onGateFailure: 'abort',
  approval: false,
}

export function deployment(more: Partial<Deployment> = {}): Deployment {
  const base = more.spec ?? spec()
  return {
    id: DeploymentId('dep_1'),
    kind: 'install',
    spec: base,
    firmware: {
      id: FirmwareId('fw_2'),
      version: '2.0',
      deviceType: 'mqtt_device',
      reportsAs: '2.0',
      sha256: 'ab'.repeat(32),
      sizeBytes: 10,
      filename: 'firmware.bin',
    },
    status: 'in_progress',
    statusReason: undefined,
    total: 10,
    skipped: {},
    groups: [undefined],
    stages: [
      { total: 10, succeeded: 0, failed: 0, state: 'running', since: Millis(0), startedAt: Millis(0) },
    ],
    stage: 0,
    evidence: {},
    createdBy: 'usr_1',
    createdAt: Millis(0),
    startedAt: Millis(0),
    pausedAt: undefined,
    abortedAt: undefined,
    finishedAt: undefined,
    deadlineAt: Millis(deadlineOf(base, Millis(0))),
    counts: {},
    revision: 1,
    ...more,
  }
}
