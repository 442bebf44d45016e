// Answers questions about saved devices from the index in memory. Stores differ only in how they read one record.
import type { DeviceId } from '../../../schemas/ids.ts'
import type { DeviceRecord } from '../../domain/device/record.ts'
import type { DeviceFilter, DevicePageQuery, Directory } from '../../ports/store.ts'
import type { DeviceIndex } from './index/device-index.ts'

/** What other processes have saved. */
type ReplicaSync = Pick<Directory, 'untilSeen' | 'catchUp' | 'freshen'>

const SINGLE_PROCESS: ReplicaSync = {
  untilSeen: async () => {},
  catchUp: async () => {},
  freshen: () => undefined,
}

export class DeviceDirectory implements Directory {
  readonly #index: DeviceIndex
  readonly get: Directory['get']
  readonly untilSeen: Directory['untilSeen']
  readonly catchUp: Directory['catchUp']
  readonly freshen: Directory['freshen']

  /** `sync` may be left out if this process is the only one that saves devices. */
  constructor(index: DeviceIndex, read: Directory['get'], sync: ReplicaSync = SINGLE_PROCESS) {
    this.#index = index
    this.get = read
    this.untilSeen = sync.untilSeen
    this.catchUp = sync.catchUp
    this.freshen = sync.freshen
  }

  summary(id: DeviceId) {
    return this.#index.summary(id)
  }

  subDevices(id: DeviceId): readonly DeviceId[] {
    return this.#index.subDevices(id)
  }

  list(filter: DeviceFilter, page: DevicePageQuery) {
    const { ids, total } = this.#index.find(filter, page)
    const devices = ids.flatMap((id): DeviceRecord[] => {
      const device = this.get(id)
      return device === undefined ? [] : [device]
    })
    return { devices, total }
  }

  matching(filter: DeviceFilter): readonly DeviceId[] {
    return this.#index.matching(filter)
  }

  countByStatus() {
    return this.#index.countByStatus()
  }
}
