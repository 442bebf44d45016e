// The partition of a device: the first 32 bits of md5(device_id) mod 64. EMQX's rule language can compute the same. md5
// is not used for security here.
import { hash } from 'node:crypto'
import { type DeviceId, Partition } from '../../schemas/ids.ts'
import { LIMITS } from '../limits.ts'

export function partitionOf(deviceId: DeviceId): Partition {
  // Hexadecimal text takes a third of the time of a `Hash` object, and every request comes through here.
  return Partition(Number.parseInt(hash('md5', deviceId, 'hex').slice(0, 8), 16) % LIMITS.partitions)
}

export const ALL_PARTITIONS: readonly Partition[] = Array.from({ length: LIMITS.partitions }, (_, p) =>
  Partition(p),
)
