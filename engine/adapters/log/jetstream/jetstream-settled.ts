// The settled position of each partition, shared by all processes: each reports its own, and the highest counts.
import { type KV, Kvm } from '@nats-io/kv'
import { nuid } from '@nats-io/transport-node'
import type { Positions } from '../../../ports/log.ts'
import type { NatsLink } from '../../nats/nats-link.ts'

/** Reports expire: the current owner of a partition repeats what an earlier one reported. */
const KEPT_MS = 7 * 86_400_000

export class Settled {
  readonly #bucket: Promise<KV>
  readonly #key = nuid.next()

  constructor(link: NatsLink, { name, replicas }: { readonly name: string; readonly replicas: number }) {
    this.#bucket = new Kvm(link.client).create(`${name}-settled`, { history: 1, ttl: KEPT_MS, replicas })
    // Whoever uses the value sees the error.
    this.#bucket.catch(() => undefined)
  }

  /** Reports this process's positions, and resolves with those of all processes combined. */
  async share(settled: Positions): Promise<Positions> {
    const bucket = await this.#bucket
    await bucket.put(this.#key, JSON.stringify(settled))
    let all = settled
    const keys = await bucket.keys()
    for await (const key of keys) {
      // Another version may have written it: anything that is not a number is ignored.
      const said = (await bucket.get(key))?.json<Positions>() ?? []
      all = all.map((seq, p) => Math.max(seq, said[p] ?? 0))
    }
    return all
  }
}
