// The leader works for all nodes: it runs services that only one node may run. The leader is the node that owns the first
// partition, from the moment its claim has gone through.
import type { Schedule } from '../../ports/schedule.ts'
import type { Claim } from '../../ports/store.ts'
import { retryUntilDone } from '../retry-until-done.ts'
import { notOwned } from '../runner/assignment.ts'
import type { Shards } from '../shards.ts'
import type { LeaderService, LeaderServices } from './leader-services.ts'
import { LEADER_PARTITION } from './nodes.ts'

export class Leader {
  readonly #shards: Shards
  readonly #createServices: (claims: readonly Claim[]) => LeaderServices
  readonly #schedule: Pick<Schedule, 'sleep'>
  readonly #failed: (error: unknown) => void
  #current: { readonly services: LeaderServices; readonly opened: Promise<void> } | undefined
  #terms = 0

  /** `createServices`: called once per term. Everything that the services save carries the term's claims, so a leader
   *  that does not know yet that another one leads cannot save any more (R2). */
  constructor({
    shards,
    createServices,
    schedule,
    failed,
  }: {
    readonly shards: Shards
    readonly createServices: (claims: readonly Claim[]) => LeaderServices
    readonly schedule: Pick<Schedule, 'sleep'>
    readonly failed: (error: unknown) => void
  }) {
    this.#shards = shards
    this.#createServices = createServices
    this.#schedule = schedule
    this.#failed = failed
  }

  isLeading(): boolean {
    return this.#current !== undefined && this.#shards.acts(LEADER_PARTITION)
  }

  async begin(): Promise<void> {
    const term = ++this.#terms
    await this.#shards.assigned(LEADER_PARTITION)
    if (term !== this.#terms || !this.#shards.owns(LEADER_PARTITION)) return
    const services = this.#createServices(this.#shards.claimsOf(LEADER_PARTITION))
    const opening = allOf(services).map((service) => this.#open(service, term))
    this.#current = { services, opened: Promise.all(opening).then(() => undefined) }
  }

  end(): void {
    this.#terms++
    if (this.#current !== undefined) for (const service of allOf(this.#current.services)) service.close()
    this.#current = undefined
  }

  /** Resolves once the services know what earlier leaders have saved. Rejects if another node leads. */
  async services(): Promise<LeaderServices> {
    const current = this.#current
    await current?.opened
    if (current === undefined || this.#current !== current) throw notOwned()
    return current.services
  }

  /** The services, whether opened yet or not. Undefined if another node leads. */
  current(): LeaderServices | undefined {
    return this.#current?.services
  }

  async settleBroadcasts(): Promise<void> {
    if (this.isLeading()) await (await this.services()).broadcasts.settle()
  }

  #open(service: LeaderService, term: number): Promise<void> {
    return retryUntilDone(
      async () => {
        await service.open()
        // The term ended meanwhile, when there was nothing to close yet.
        if (term !== this.#terms) service.close()
      },
      () => term !== this.#terms,
      { schedule: this.#schedule, failed: this.#failed },
    )
  }
}

function allOf(services: LeaderServices): readonly LeaderService[] {
  return Object.values(services)
}
