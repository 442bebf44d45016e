import { expect, test } from 'vitest'
import { DeploymentId, type DeviceId, Millis } from '../../../schemas/ids.ts'
import type { FirmwareRecord } from '../../domain/ota/firmware-record.ts'
import { spec } from '../../domain/ota/testing/deployment.ts'
import { FIRMWARE } from '../../domain/ota/testing/firmware.ts'
import type { DeploymentRequest } from '../../ports/deployments.ts'
import { DeploymentAdmission } from './deployment-admission.ts'

const MEMBERS_MAX = 3
const request: DeploymentRequest = {
  id: DeploymentId('dep_1'),
  kind: 'install',
  spec: spec(),
  firmwareId: FIRMWARE.id,
  members: { kind: 'matching', filter: {} },
  by: 'usr_1',
  mayPassBlocks: false,
}

/** A fleet of this many devices. `later`: the firmware once the devices were looked at. */
function admissionTo(count: number, later: FirmwareRecord | 'removed' = FIRMWARE): DeploymentAdmission {
  let firmware: FirmwareRecord | undefined = FIRMWARE
  const ids = Array.from({ length: count }, (_, n) => `device-${n}` as DeviceId)
  const ports = {
    store: { devices: { summary: () => undefined, matching: () => ids } },
    firmwares: { get: () => firmware },
    clock: { now: () => Millis(1) },
    firmwareOf: async () => {
      firmware = later === 'removed' ? undefined : later
      return []
    },
  }
  return new DeploymentAdmission(ports, () => 0, MEMBERS_MAX)
}

test('a deployment to too many devices is refused with the limit', async () => {
  expect(await admissionTo(MEMBERS_MAX).admit(request)).toMatchObject({ kind: 'admitted' })
  expect(await admissionTo(MEMBERS_MAX + 1).admit(request)).toMatchObject({
    kind: 'refused',
    code: 'LIMIT_REACHED',
    detail: { limit: MEMBERS_MAX },
  })
})

test('a firmware that is yanked or removed while the devices are looked at is not deployed', async () => {
  const yanked = { ...FIRMWARE, status: 'yanked' } as const
  expect(await admissionTo(1, yanked).admit(request)).toMatchObject({ code: 'FIRMWARE_YANKED' })
  expect(await admissionTo(1, 'removed').admit(request)).toMatchObject({ code: 'NOT_FOUND' })
})
