// For tests: leases that several nodes of one process share.
import type { Clock } from '../../../ports/clock.ts'
import type { DownloadLease, DownloadLeaseLimits, DownloadLeases } from '../../../ports/download-leases.ts'

export class MemoryDownloadLeases implements DownloadLeases {
  readonly heldMs: number
  readonly #clock: Pick<Clock, 'ticks'>
  readonly #limits: DownloadLeaseLimits
  readonly #held = new Map<string, { readonly reader: string; readonly until: number }>()

  constructor(clock: Pick<Clock, 'ticks'>, limits: DownloadLeaseLimits) {
    this.#clock = clock
    this.#limits = limits
    this.heldMs = limits.heldMs
  }

  async acquire({ reader, stream }: DownloadLease): Promise<'taken' | 'reader' | 'busy'> {
    this.#forget()
    const readers = [...this.#held.values()].map((lease) => lease.reader)
    const own = readers.filter((each) => each === reader).length
    if (own >= this.#limits.streamsPerReaderMax) return 'reader'
    if (own === 0 && new Set(readers).size >= this.#limits.readersMax) return 'busy'
    this.#held.set(stream, { reader, until: this.#clock.ticks() + this.heldMs })
    return 'taken'
  }

  async renew(leases: readonly DownloadLease[]): Promise<readonly boolean[]> {
    this.#forget()
    return leases.map(({ reader, stream }) => {
      if (!this.#held.has(stream)) return false
      this.#held.set(stream, { reader, until: this.#clock.ticks() + this.heldMs })
      return true
    })
  }

  async release({ stream }: DownloadLease): Promise<void> {
    this.#held.delete(stream)
  }

  #forget(): void {
    for (const [stream, { until }] of this.#held) if (until <= this.#clock.ticks()) this.#held.delete(stream)
  }
}
