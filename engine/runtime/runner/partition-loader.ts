// Partitions that a runner has gained while it runs, until their devices are in the shard and their entries can be read.
// Devices are loaded in pieces. Between two pieces the shard works for the partitions that it already has.
//
// J1. If the store does not answer, what is loaded stays: these records cannot change until their entries are read.
import type { DeviceId, Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Records, StoredDevice } from '../../ports/store.ts'

type Devices = readonly StoredDevice[]

export interface PartitionLoaderHost {
  /** Called when a step can be taken. */
  ready(): void
  /** Loads the devices into the shard. */
  load(partitions: readonly Partition[], devices: Devices): Promise<unknown>
  /** Called when all devices of these partitions are loaded, so that their entries may be read. */
  loaded(partitions: readonly Partition[]): void
  /** Called when the store did not answer. It will be asked again. */
  failed(fault: Fault): void
}

interface LoadingGroup {
  readonly partitions: readonly Partition[]
  readonly pieces: AsyncIterator<Devices>
  readonly loaded: Set<DeviceId>
}

export class PartitionLoader {
  readonly #store: Pick<Records, 'load'>
  readonly #schedule: Pick<Schedule, 'after'>
  readonly #host: PartitionLoaderHost
  /** Partitions gained while others are being loaded. */
  #waiting: Partition[] = []
  #group: LoadingGroup | undefined
  #next: (() => Promise<unknown>) | undefined

  constructor(
    {
      store,
      schedule,
    }: { readonly store: Pick<Records, 'load'>; readonly schedule: Pick<Schedule, 'after'> },
    host: PartitionLoaderHost,
  ) {
    this.#store = store
    this.#schedule = schedule
    this.#host = host
  }

  /** True until the entries of all gained partitions may be read. */
  get isUnderWay(): boolean {
    return this.#group !== undefined || this.#waiting.length > 0
  }

  /** Whether devices of any of these partitions are still to be loaded. */
  isLoading(partitions: readonly Partition[]): boolean {
    if (!this.isUnderWay) return false
    const loading = new Set([...this.#waiting, ...(this.#group?.partitions ?? [])])
    return partitions.some((partition) => loading.has(partition))
  }

  add(partitions: readonly Partition[]): void {
    this.#waiting.push(...partitions)
    this.#begin()
  }

  /** Forgets everything, because the shard is opened again with all partitions. */
  clear(): void {
    this.#waiting = []
    this.#group = undefined
    this.#next = undefined
  }

  /** Takes the next step if there is one. Rejects if the shard must be opened again. */
  async step(): Promise<boolean> {
    const next = this.#next
    this.#next = undefined
    await next?.()
    return next !== undefined
  }

  #begin(): void {
    if (this.#group !== undefined || this.#waiting.length === 0) return
    const partitions = this.#waiting
    this.#waiting = []
    this.#open(partitions, new Set())
  }

  #open(partitions: readonly Partition[], loaded: Set<DeviceId>): void {
    this.#group = { partitions, pieces: this.#store.load(partitions)[Symbol.asyncIterator](), loaded }
    this.#pull(this.#group)
  }

  /** Asks for the next piece, which comes while the shard takes the current one. */
  #pull(group: LoadingGroup): void {
    const then = (next: () => Promise<unknown>) => {
      if (this.#group !== group) return
      this.#next = next
      this.#host.ready()
    }
    group.pieces.next().then(
      ({ done, value }) => then(() => (done ? this.#end(group) : this.#load(group, value))),
      (error: unknown) => {
        if (error instanceof Fault && error.retryable) this.#openAgain(group, error)
        else then(() => Promise.reject(error))
      },
    )
  }

  /** by J1 */
  #openAgain(group: LoadingGroup, fault: Fault): void {
    this.#host.failed(fault)
    this.#schedule.after(LIMITS.shardRetryMs, () => {
      if (this.#group === group) this.#open(group.partitions, group.loaded)
    })
  }

  #load(group: LoadingGroup, devices: Devices): Promise<unknown> {
    this.#pull(group)
    const missing = devices.filter(({ device }) => !group.loaded.has(device.id))
    for (const { device } of missing) group.loaded.add(device.id)
    return this.#host.load(group.partitions, missing)
  }

  async #end({ partitions }: LoadingGroup): Promise<void> {
    this.#group = undefined
    this.#host.loaded(partitions)
    this.#begin()
  }
}
