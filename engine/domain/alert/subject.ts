// What alert rules look at of a device.
import type { DeviceId, Millis } from '../../../schemas/ids.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'
import type { Shadow } from '../shadow/record.ts'

/** The fields by which a device is a member of a target. */
export interface Member {
  readonly id: DeviceId
  readonly name: string
  readonly type: string
  readonly group: string | undefined
  readonly tags: readonly string[]
  readonly status: DeviceStatus
  readonly parentId: DeviceId | undefined
  readonly firmwareVersion: string | undefined
}

export interface Subject extends Member {
  readonly statusSince: Millis
  readonly createdAt: Millis
  readonly shadow: Shadow
}
