// Devices, filters and pages for property tests: few distinct values, so that they meet.
import fc from 'fast-check'
import { Millis } from '../../../../schemas/ids.ts'
import { DEVICE_STATUSES } from '../../../../schemas/vocabulary.ts'
import type { DeviceRecord } from '../../../domain/device/record.ts'
import { DEVICE_SORTS, type DeviceFilter } from '../../../ports/store.ts'
import { DeviceIdOf, device } from './contract.ts'

const GROUPS = ['eu', 'eu/berlin', 'eu/berlin/hall', 'europe', 'us', undefined]
const GATEWAY = DeviceIdOf('gw')
const anyGroup = fc.constantFrom(...GROUPS)
const anyName = fc.constantFrom('Pump', 'pump 2', 'PUMP', 'Straße', 'İ', 'arm', '')
const anyTags = fc.subarray(['a', 'b', 'c'])

export const anyDevice: fc.Arbitrary<DeviceRecord> = fc
  .record({
    id: fc.constantFrom(...Array.from({ length: 30 }, (_, i) => `${i % 3 ? 'dev' : 'Pum'}-${i}`)),
    name: anyName,
    type: fc.constantFrom('gateway', 'mqtt_device', 'ros2_robot'),
    status: fc.constantFrom(...DEVICE_STATUSES),
    group: anyGroup,
    tags: anyTags,
    firmwareVersion: fc.constantFrom('1.0', '2.0', undefined),
    createdAt: fc.integer({ min: 0, max: 3 }).map((n) => Millis(1_700_000_000_000 + n * 70_000)),
    updatedAt: fc.integer({ min: 0, max: 2 ** 41 }).map(Millis),
  })
  // Decided by the id: a device never changes its parent.
  .map(({ id, ...over }) => device(id, { ...over, parentId: id.endsWith('1') ? GATEWAY : undefined }))

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
export const anyFilter: fc.Arbitrary<DeviceFilter> = fc.record({
  status: optional(fc.oneof(fc.constantFrom(...DEVICE_STATUSES), fc.subarray([...DEVICE_STATUSES]))),
  type: optional(fc.constantFrom('gateway', 'nothing')),
  group: optional(fc.constantFrom('eu', 'eu/berlin', 'e', 'us')),
  groupExact: optional(fc.boolean()),
  tags: optional(anyTags),
  parentId: optional(fc.constantFrom(GATEWAY, DeviceIdOf('nobody'))),
  firmwareVersion: optional(fc.constantFrom('1.0', '3.0', '')),
  q: optional(fc.constantFrom('p', 'PUM', 'dev-1', 'strasse', 'STRASSE', 'i', '')),
  within: optional(fc.subarray(['eu', 'europe', 'us/x'])),
})
export const anyPage = fc.record(
  {
    offset: fc.nat(12),
    limit: fc.integer({ min: 1, max: 12 }),
    sort: fc.constantFrom(...DEVICE_SORTS),
    descending: fc.boolean(),
  },
  { requiredKeys: ['offset', 'limit'] },
)
