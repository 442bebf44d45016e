// The leader's duties that write about the whole fleet into ClickHouse.
import type { Store } from '../../ports/store.ts'
import { CensusTaker } from './census-taker.ts'
import { DeviceCopier, type DeviceCopierPorts } from './device-copier.ts'

export const fleetDuties = (ports: Omit<DeviceCopierPorts, 'devices'> & { readonly store: Store }) => {
  const { devices } = ports.store
  return {
    census: new CensusTaker({ ...ports, devices }),
    deviceCopies: new DeviceCopier({ ...ports, devices }),
  }
}
