// What is settled, as all processes know it together: each says how far it has got, and the greatest counts.
import { type KV, Kvm } from '@nats-io/kv'
import { nuid } from '@nats-io/transport-node'
import type { Positions } from '../../../ports/log.ts'
import type { NatsLink } from '../../nats/nats-link.ts'

/** What a process said that is long gone was said again by who has its partitions now. */
const KEPT_MS = 7 * 86_400_000

export class Settled {
  readonly #bucket: Promise<KV>
  readonly #key = nuid.next()

  constructor(link: NatsLink, { name, replicas }: { readonly name: string; readonly replicas: number }) {
    this.#bucket = new Kvm(link.client).create(`${name}-settled`, { history: 1, ttl: KEPT_MS, replicas })
    // Said to whoever uses it.
    this.#bucket.catch(() => undefined)
  }

  /** Tells the others, and resolves with what they and this process have settled. */
  async share(settled: Positions): Promise<Positions> {
    const bucket = await this.#bucket
    await bucket.put(this.#key, JSON.stringify(settled))
    let all = settled
    const keys = await bucket.keys()
    for await (const key of keys) {
      // Written above, by this version or another: what is no number counts as nothing.
      const said = (await bucket.get(key))?.json<Positions>() ?? []
      all = all.map((seq, p) => Math.max(seq, said[p] ?? 0))
    }
    return all
  }
}
