// Partitions that a runner gained while it runs, until their devices are in the shard and their entries are read. Devices are
// loaded piece by piece: between two pieces the shard works for the partitions that it has already.
import type { Partition } from '../../../schemas/ids.ts'
import type { Records, StoredDevice } from '../../ports/store.ts'

type Devices = readonly StoredDevice[]

export interface JoiningHost {
  /** There is a step to take. */
  ready(): void
  /** Puts the devices into the shard. */
  load(partitions: readonly Partition[], devices: Devices): Promise<unknown>
  /** All devices of these are there: their entries may be read. */
  loaded(partitions: readonly Partition[]): void
}

interface Group {
  readonly partitions: readonly Partition[]
  readonly pieces: AsyncIterator<Devices>
}

export class Joining {
  readonly #store: Pick<Records, 'load'>
  readonly #host: JoiningHost
  /** Gained while others are being loaded. */
  #waiting: Partition[] = []
  #group: Group | undefined
  #next: (() => Promise<unknown>) | undefined

  constructor(store: Pick<Records, 'load'>, host: JoiningHost) {
    this.#store = store
    this.#host = host
  }

  /** True until the entries of all that was gained may be read. */
  get isUnderWay(): boolean {
    return this.#group !== undefined || this.#waiting.length > 0
  }

  /** Whether devices of one of these are still to be loaded. */
  isLoading(partitions: readonly Partition[]): boolean {
    if (!this.isUnderWay) return false
    const loading = new Set([...this.#waiting, ...(this.#group?.partitions ?? [])])
    return partitions.some((partition) => loading.has(partition))
  }

  add(partitions: readonly Partition[]): void {
    this.#waiting.push(...partitions)
    this.#begin()
  }

  /** The shard is opened again, with all partitions. */
  clear(): void {
    this.#waiting = []
    this.#group = undefined
    this.#next = undefined
  }

  /** Takes the next step, if it can be taken. Rejects if the shard has to be opened again. */
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
    this.#group = { partitions, pieces: this.#store.load(partitions)[Symbol.asyncIterator]() }
    this.#pull(this.#group)
  }

  /** The next piece is on its way while the shard takes the one before. */
  #pull(group: Group): void {
    const then = (next: () => Promise<unknown>) => {
      if (this.#group !== group) return
      this.#next = next
      this.#host.ready()
    }
    group.pieces.next().then(
      ({ done, value }) => then(() => (done ? this.#end(group) : this.#load(group, value))),
      (error: unknown) => then(() => Promise.reject(error)),
    )
  }

  #load(group: Group, devices: Devices): Promise<unknown> {
    this.#pull(group)
    return this.#host.load(group.partitions, devices)
  }

  async #end({ partitions }: Group): Promise<void> {
    this.#group = undefined
    this.#host.loaded(partitions)
    this.#begin()
  }
}
