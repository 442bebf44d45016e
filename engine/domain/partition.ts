// Which of the fixed partitions a device belongs to: the first 32 bits of md5(device_id) mod 64, which EMQX's rule
// language can compute alike. Not a security use of md5.
import { hash } from 'node:crypto'
import { type DeviceId, Partition } from '../../schemas/ids.ts'
import { LIMITS } from '../limits.ts'

export function partitionOf(deviceId: DeviceId): Partition {
  // By way of hexadecimal text: a third of the time of a `Hash` object, and every request comes by here.
  return Partition(Number.parseInt(hash('md5', deviceId, 'hex').slice(0, 8), 16) % LIMITS.partitions)
}

export const ALL_PARTITIONS: readonly Partition[] = Array.from({ length: LIMITS.partitions }, (_, p) =>
  Partition(p),
)
