// Answers questions about saved devices from the index in memory. Stores differ only in how they read one record.
import type { DeviceId } from '../../../schemas/ids.ts'
import type { DeviceRecord } from '../../domain/device/record.ts'
import type { DeviceFilter, DevicePageQuery, Directory } from '../../ports/store.ts'
import type { DeviceIndex } from './index/device-index.ts'

/** What other processes have saved. */
type Others = Pick<Directory, 'known' | 'catchUp' | 'freshen'>

const NOBODY: Others = { known: async () => {}, catchUp: async () => {}, freshen: () => undefined }

export class DeviceDirectory implements Directory {
  readonly #index: DeviceIndex
  readonly get: Directory['get']
  readonly known: Directory['known']
  readonly catchUp: Directory['catchUp']
  readonly freshen: Directory['freshen']

  /** `others` may be left out if this process is the only one that saves devices. */
  constructor(index: DeviceIndex, read: Directory['get'], others: Others = NOBODY) {
    this.#index = index
    this.get = read
    this.known = others.known
    this.catchUp = others.catchUp
    this.freshen = others.freshen
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
