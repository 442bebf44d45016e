// Questions in flight to other nodes. A node that dies never answers, and the mesh does not notice: it waits for as long as
// an answer may take. So a question is given up once its node is no longer in the table of owners.
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'

export interface NodeQuestionsPorts {
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'sleep'>
  /** The addresses of all nodes that own anything. */
  readonly addresses: () => ReadonlySet<string | undefined>
}

interface AskedNode {
  readonly giveUp: Set<() => void>
  /** Since when the node owns nothing. A node that stops in order still answers for a moment. */
  absentSince: number | undefined
}

export class NodeQuestions {
  readonly #ports: NodeQuestionsPorts
  readonly #askedNodes = new Map<string, AskedNode>()
  #isChecking = false

  constructor(ports: NodeQuestionsPorts) {
    this.#ports = ports
  }

  /** Resolves with the answer. Rejects once the node is gone. */
  async track<Answer>(address: string, answer: Promise<Answer>): Promise<Answer> {
    const entry = this.#askedNodes.get(address) ?? { giveUp: new Set(), absentSince: undefined }
    this.#askedNodes.set(address, entry)
    let giveUp = () => {}
    const lost = new Promise<never>((_, reject) => {
      giveUp = () => reject(nodeLost(address))
    })
    entry.giveUp.add(giveUp)
    if (!this.#isChecking) void this.#checkOwners()
    try {
      return await Promise.race([answer, lost])
    } finally {
      entry.giveUp.delete(giveUp)
      if (entry.giveUp.size === 0) this.#askedNodes.delete(address)
    }
  }

  async #checkOwners(): Promise<void> {
    const { clock, schedule, addresses } = this.#ports
    this.#isChecking = true
    while (this.#askedNodes.size > 0) {
      await schedule.sleep(LIMITS.ownerSearchRetryMs)
      const present = addresses()
      const now = clock.ticks()
      for (const [address, entry] of this.#askedNodes) {
        entry.absentSince = present.has(address) ? undefined : (entry.absentSince ?? now)
        if (entry.absentSince === undefined || now - entry.absentSince < LIMITS.nodeGoneMs) continue
        for (const giveUp of entry.giveUp) giveUp()
      }
    }
    this.#isChecking = false
  }
}

export class NodeLostFault extends Fault {}

function nodeLost(address: string): NodeLostFault {
  return new NodeLostFault('NODE_UNREACHABLE', {
    retryable: true,
    message: `node ${address} died over a question: nobody knows whether it was done`,
  })
}
