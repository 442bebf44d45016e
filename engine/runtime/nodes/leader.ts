// The leader works for all nodes: it has duties that only one node may have. The leader is the node that owns the first
// partition, from the moment its claim has gone through.
import type { Schedule } from '../../ports/schedule.ts'
import type { Claim } from '../../ports/store.ts'
import { insist } from '../insist.ts'
import { notOwned } from '../runner/assignment.ts'
import type { Shards } from '../shards.ts'
import type { Duties, Duty } from './duties.ts'
import { LEADING } from './nodes.ts'

export class Leader {
  readonly #shards: Shards
  readonly #make: (claims: readonly Claim[]) => Duties
  readonly #schedule: Pick<Schedule, 'sleep'>
  readonly #failed: (error: unknown) => void
  #current: { readonly duties: Duties; readonly opened: Promise<void> } | undefined
  #terms = 0

  /** `make`: creates the duties of one term. Everything they save carries its claims, so a leader that does not know yet
   *  that another one leads cannot save any more (R2). */
  constructor({
    shards,
    make,
    schedule,
    failed,
  }: {
    readonly shards: Shards
    readonly make: (claims: readonly Claim[]) => Duties
    readonly schedule: Pick<Schedule, 'sleep'>
    readonly failed: (error: unknown) => void
  }) {
    this.#shards = shards
    this.#make = make
    this.#schedule = schedule
    this.#failed = failed
  }

  isLeading(): boolean {
    return this.#current !== undefined && this.#shards.acts(LEADING)
  }

  async begin(): Promise<void> {
    const term = ++this.#terms
    await this.#shards.assigned(LEADING)
    if (term !== this.#terms || !this.#shards.owns(LEADING)) return
    const duties = this.#make(this.#shards.claimsOf(LEADING))
    const opening = dutiesOf(duties).map((duty) => this.#open(duty, term))
    this.#current = { duties, opened: Promise.all(opening).then(() => undefined) }
  }

  end(): void {
    this.#terms++
    if (this.#current !== undefined) for (const duty of dutiesOf(this.#current.duties)) duty.close()
    this.#current = undefined
  }

  /** Resolves once the duties know what earlier leaders have saved. Rejects if another node leads. */
  async duties(): Promise<Duties> {
    const current = this.#current
    await current?.opened
    if (current === undefined || this.#current !== current) throw notOwned()
    return current.duties
  }

  /** The duties, whether opened yet or not. Undefined if another node leads. */
  current(): Duties | undefined {
    return this.#current?.duties
  }

  async settleBroadcasts(): Promise<void> {
    if (this.isLeading()) await (await this.duties()).broadcasts.settle()
  }

  #open(duty: Duty, term: number): Promise<void> {
    return insist(
      async () => duty.open(),
      () => term !== this.#terms,
      { schedule: this.#schedule, failed: this.#failed },
    )
  }
}

function dutiesOf(duties: Duties): readonly Duty[] {
  return Object.values(duties)
}
