// Questions in flight to other nodes. A node that dies never answers, and the mesh does not notice: it waits for as long as
// an answer may take. So a question is given up once its node is no longer in the table of owners.
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'

export interface UnderWayPorts {
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'sleep'>
  /** The addresses of all nodes that own anything. */
  readonly addresses: () => ReadonlySet<string | undefined>
}

interface AskedNode {
  readonly giveUp: Set<() => void>
  /** Since when the node owns nothing. A node that stops in order still answers for a moment. */
  goneSince: number | undefined
}

export class UnderWay {
  readonly #ports: UnderWayPorts
  readonly #asked = new Map<string, AskedNode>()
  #isWatching = false

  constructor(ports: UnderWayPorts) {
    this.#ports = ports
  }

  /** Resolves with the answer. Rejects once the node is gone. */
  async watch<Answer>(address: string, asked: Promise<Answer>): Promise<Answer> {
    const entry = this.#asked.get(address) ?? { giveUp: new Set(), goneSince: undefined }
    this.#asked.set(address, entry)
    let giveUp = () => {}
    const gone = new Promise<never>((_, reject) => {
      giveUp = () => reject(goneFault(address))
    })
    entry.giveUp.add(giveUp)
    if (!this.#isWatching) void this.#look()
    try {
      return await Promise.race([asked, gone])
    } finally {
      entry.giveUp.delete(giveUp)
      if (entry.giveUp.size === 0) this.#asked.delete(address)
    }
  }

  async #look(): Promise<void> {
    const { clock, schedule, addresses } = this.#ports
    this.#isWatching = true
    while (this.#asked.size > 0) {
      await schedule.sleep(LIMITS.ownerSearchRetryMs)
      const present = addresses()
      const now = clock.ticks()
      for (const [address, entry] of this.#asked) {
        entry.goneSince = present.has(address) ? undefined : (entry.goneSince ?? now)
        if (entry.goneSince === undefined || now - entry.goneSince < LIMITS.nodeGoneMs) continue
        for (const giveUp of entry.giveUp) giveUp()
      }
    }
    this.#isWatching = false
  }
}

export class GoneFault extends Fault {}

function goneFault(address: string): GoneFault {
  return new GoneFault('NODE_UNREACHABLE', {
    retryable: true,
    message: `node ${address} died over a question: nobody knows whether it was done`,
  })
}
