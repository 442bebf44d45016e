import { expect, test } from 'vitest'
import { DeploymentId, type DeviceId, Millis } from '../../../schemas/ids.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { NO_FIRMWARE } from '../../domain/ota/firmware-part.ts'
import { newJob } from '../../domain/ota/job.ts'
import type { FirmwareState } from '../../domain/ota/tally.ts'
import { spec } from '../../domain/ota/testing/deployment.ts'
import { FIRMWARE } from '../../domain/ota/testing/firmware.ts'
import { plan } from '../../domain/ota/testing/updated-device.ts'
import { partitionOf } from '../../domain/partition.ts'
import { Fault } from '../../ports/fault.ts'
import { NO_SAVE } from '../../ports/store.ts'
import { SimTime } from '../../testing/time.ts'
import { deviceOf, START } from '../shard/testing/items.ts'
import { DeploymentDesk } from './deployment-desk.ts'

test('older jobs are superseded on every device, although one of them did not answer at first', async () => {
  const time = new SimTime(START)
  const store = new MemoryStore({ partitionOf })
  const devices = ['a', 'b', 'c'].map((name) => deviceOf(name, { group: 'hall', type: FIRMWARE.deviceType }))
  await store.save({ ...NO_SAVE, changed: devices })
  const superseded: DeviceId[] = []
  const failures: unknown[] = []
  const about = { createdAt: Millis(0), fromVersion: undefined, awaySince: undefined }
  const older = newJob(plan({ deploymentId: DeploymentId('dep_older') }), about)
  const stateOf = (deviceId: DeviceId): FirmwareState => ({
    ...{ deviceId, firmware: { ...NO_FIRMWARE, jobs: [older] }, firmwareVersion: '0.9', status: 'online' },
    ...{ parentId: undefined, isConnected: true, takesOta: true, unmet: [], alertsAt: {} },
  })
  const desk = new DeploymentDesk({
    ...{ store, claims: [], clock: time, schedule: time.newIncarnation().schedule },
    firmwares: { get: () => FIRMWARE, all: () => [FIRMWARE] },
    submit: async (deviceId, request) => {
      if (request.kind === 'ota_cancel') {
        // The partition of the device is just changing hands.
        if (deviceId === 'b' && failures.length === 0) throw new Fault('NOT_OWNED', { retryable: true })
        superseded.push(deviceId)
      }
      return { kind: 'refused', code: 'NOT_FOUND', detail: {} }
    },
    tallies: async () => [],
    firmwareOf: async (ids) => ids.map(stateOf),
    gateValues: async () => [],
    roundTook: () => undefined,
    downloadsMax: 100,
    retentionMs: 1_000,
    record: async () => undefined,
    failed: (error) => failures.push(error),
  })
  await desk.open()
  const created = await desk.create({
    ...{ id: DeploymentId('dep_1'), kind: 'install', spec: spec({ supersede: true }), by: 'usr_1' },
    ...{ firmwareId: FIRMWARE.id, members: { kind: 'matching', filter: {} }, mayPassBlocks: false },
  })
  expect(created.kind).toBe('done')
  await time.advance(5_000)
  desk.close()
  expect([new Set(superseded), failures.length]).toEqual([new Set(['a', 'b', 'c']), 1])
})
