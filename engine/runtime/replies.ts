// Requests that wait for the reply of their device's shard. Without a reply in time the outcome is unknown: a fault.
import { LIMITS } from '../limits.ts'
import { Fault } from '../ports/fault.ts'
import type { Reply } from './shard/protocol.ts'

interface PendingReply {
  readonly resolve: (reply: Reply) => void
  readonly reject: (fault: Fault) => void
  readonly until: number
}

const WAIT_MS = 10_000
const NO_REPLY = 'the request was not applied in time'

export class Replies {
  readonly #waiting = new Map<string, PendingReply>()
  readonly #whenSettled: (() => void)[] = []
  readonly #ticks: () => number

  constructor(ticks: () => number) {
    this.#ticks = ticks
  }

  /** Throws a fault when too many wait. */
  await(requestId: string): Promise<Reply> {
    if (this.#waiting.size >= LIMITS.repliesWaitingMax)
      throw new Fault('OVERLOADED', { retryable: true, message: 'too many requests are waiting' })
    return new Promise((resolve, reject) => {
      this.#waiting.set(requestId, { resolve, reject, until: this.#ticks() + WAIT_MS })
    })
  }

  /** False if nobody here waits for the reply: after a restart the log is replayed, but the caller is gone. */
  settle(reply: Reply): boolean {
    this.#waiting.get(reply.requestId)?.resolve(reply)
    return this.#forget(reply.requestId)
  }

  /** Resolves once nobody waits. */
  settled(): Promise<void> {
    if (this.#waiting.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenSettled.push(resolve))
  }

  forget(requestId: string): void {
    this.#forget(requestId)
  }

  /** The map is in the order of the requests, so the search ends at the first one that has time left. */
  expire(): void {
    const now = this.#ticks()
    for (const [requestId, { until, reject }] of this.#waiting) {
      if (until > now) return
      this.#waiting.delete(requestId)
      reject(new Fault('OVERLOADED', { retryable: true, message: NO_REPLY }))
    }
  }

  fail(fault: Fault): void {
    for (const { reject } of this.#waiting.values()) reject(fault)
    this.#waiting.clear()
  }

  #forget(requestId: string): boolean {
    const wasThere = this.#waiting.delete(requestId)
    if (this.#waiting.size === 0) for (const resolve of this.#whenSettled.splice(0)) resolve()
    return wasThere
  }
}
