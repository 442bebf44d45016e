// The shard as it is open now: its thread, the devices loaded into it, and its source of entries. If the thread is lost,
// another one takes its place and begins with the store.
import type { Millis, Partition } from '../../../schemas/ids.ts'
import type { AlertSettings } from '../../domain/alert/rule-book.ts'
import type { StoredDevice } from '../../ports/store.ts'
import { clearProgress, newProgress, type Suspect, suspectOf } from '../shard/progress.ts'
import type { LatestValue } from './latest-value.ts'
import type { RunnerPorts, RunnerSettings } from './runner-ports.ts'
import type { ShardPositions } from './shard-positions.ts'
import { Source } from './source.ts'
import type { ShardThread } from './thread.ts'

interface OpenShardHost {
  readonly positions: ShardPositions
  readonly now: () => Millis
  /** Called when there are entries to read. */
  readonly poke: () => void
  readonly readFailed: (error: unknown) => void
}

export class OpenShard {
  readonly #settings: RunnerSettings
  readonly #ports: Pick<RunnerPorts, 'openThread' | 'store' | 'log'>
  readonly #host: OpenShardHost
  readonly #progress = newProgress()
  #incarnations = 0
  #partitions: readonly Partition[]
  #thread: ShardThread
  #source: Source

  constructor(
    settings: RunnerSettings,
    ports: Pick<RunnerPorts, 'openThread' | 'store' | 'log'>,
    host: OpenShardHost,
  ) {
    this.#settings = settings
    this.#ports = ports
    this.#host = host
    this.#partitions = settings.partitions
    this.#thread = this.#newThread()
    this.#source = this.#newSource()
  }

  /** The partitions that the shard was opened with. */
  get partitions(): readonly Partition[] {
    return this.#partitions
  }

  get thread(): ShardThread {
    return this.#thread
  }

  get source(): Source {
    return this.#source
  }

  /** What the thread was working on when it was lost. Returned only once. */
  takeSuspect(): Suspect | undefined {
    const suspect = suspectOf(this.#progress)
    clearProgress(this.#progress)
    return suspect
  }

  /** Opens an empty thread for these partitions. Let the positions start over before. */
  replace(partitions: readonly Partition[]): void {
    this.#source.close()
    this.#thread = this.#newThread()
    this.#partitions = partitions
    this.#source = this.#newSource()
  }

  async load(alertSettings: LatestValue<AlertSettings>): Promise<void> {
    // Given before the devices, so that each device gets its rules once. Later changes go with the next task.
    const { latest } = alertSettings
    alertSettings.take()
    await this.loadDevices(this.#partitions, [], latest)
    for await (const devices of this.#ports.store.load(this.#partitions))
      await this.loadDevices(this.#partitions, devices)
  }

  /** Loads devices of these partitions into the shard. */
  loadDevices(
    partitions: readonly Partition[],
    devices: readonly StoredDevice[],
    alertSettings?: AlertSettings,
  ): Promise<unknown> {
    const { positions, now } = this.#host
    const applied = positions.appliedOf(partitions)
    return this.#thread.run({ kind: 'load', devices, applied, alertSettings, now: now() })
  }

  #newThread(): ShardThread {
    const incarnation = `${this.#settings.incarnation}-${this.#incarnations++}`
    return this.#ports.openThread({ ...this.#settings, incarnation, progress: this.#progress })
  }

  #newSource(): Source {
    const { positions, poke, readFailed } = this.#host
    return new Source({
      log: this.#ports.log,
      partitions: this.#partitions,
      from: positions.covered,
      poke,
      failed: readFailed,
    })
  }
}
