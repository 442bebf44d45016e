// The partitions of a runner. It may gain some while it runs. The lists grow in place, so everybody who was given one sees
// the additions.
import type { Partition } from '../../../schemas/ids.ts'
import type { Claim } from '../../ports/store.ts'

export class HeldPartitions {
  readonly #partitions: Partition[]
  readonly #claims: Claim[]
  readonly #claimOf: Map<Partition, Claim>

  constructor(partitions: readonly Partition[], claims: readonly Claim[]) {
    this.#partitions = [...partitions]
    this.#claims = [...claims]
    this.#claimOf = new Map(claims.map((claim) => [claim.partition, claim]))
  }

  get partitions(): readonly Partition[] {
    return this.#partitions
  }

  /** The claims that every save carries. Empty in the embedded profile. */
  get claims(): readonly Claim[] {
    return this.#claims
  }

  claimOf(partition: Partition): Claim | undefined {
    return this.#claimOf.get(partition)
  }

  add(claims: readonly Claim[]): void {
    for (const claim of claims) {
      this.#partitions.push(claim.partition)
      this.#claims.push(claim)
      this.#claimOf.set(claim.partition, claim)
    }
  }
}
