// What the leader writes into ClickHouse about the fleet as a whole.
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
