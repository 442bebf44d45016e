// Refresh grants in memory, indexed by hash, user and family, and the selection of those that are no longer needed.
import type { UserId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { RefreshGrant } from '../../ports/users.ts'

export class Grants {
  readonly #grants = new Map<string, RefreshGrant>()
  readonly #ofUser = new Map<string, Set<string>>()
  readonly #ofFamily = new Map<string, Set<string>>()

  get(tokenHash: string): RefreshGrant | undefined {
    return this.#grants.get(tokenHash)
  }

  hasFamily(family: string): boolean {
    return this.#ofFamily.has(family)
  }

  hashesOf(which: { readonly userId: UserId } | { readonly family: string }): readonly string[] {
    const hashes = 'userId' in which ? this.#ofUser.get(which.userId) : this.#ofFamily.get(which.family)
    return [...(hashes ?? [])]
  }

  hashes(): readonly string[] {
    return [...this.#grants.keys()]
  }

  put(grant: RefreshGrant): void {
    this.#grants.set(grant.tokenHash, grant)
    include(this.#ofUser, grant.userId, grant.tokenHash)
    include(this.#ofFamily, grant.family, grant.tokenHash)
  }

  drop(hashes: readonly string[]): void {
    for (const hash of hashes) {
      const grant = this.#grants.get(hash)
      if (grant === undefined) continue
      this.#grants.delete(hash)
      exclude(this.#ofUser, grant.userId, hash)
      exclude(this.#ofFamily, grant.family, hash)
    }
  }

  /** Hashes of the user's grants to remove when `grant` is added, because they have expired or are too many. */
  obsolete(grant: RefreshGrant): readonly string[] {
    const others = this.hashesOf(grant)
      .flatMap((hash) => this.#grants.get(hash) ?? [])
      .filter(({ tokenHash }) => tokenHash !== grant.tokenHash)
    const live = others.filter(({ expiresAt }) => expiresAt > grant.usedAt).sort(mostUsefulFirst)
    let replaced = 0
    const kept = new Set(
      live
        .filter((each) => !isReplacedIn(grant.family, each) || ++replaced <= LIMITS.replacedGrantsMax)
        .slice(0, LIMITS.grantsPerUserMax - 1),
    )
    return others.filter((each) => !kept.has(each)).map(({ tokenHash }) => tokenHash)
  }
}

/** A replaced grant only serves to detect its reuse, so it is removed before any grant that is still valid. */
function mostUsefulFirst(a: RefreshGrant, b: RefreshGrant): number {
  return Number(a.replaced !== undefined) - Number(b.replaced !== undefined) || b.usedAt - a.usedAt
}

function isReplacedIn(family: string, grant: RefreshGrant): boolean {
  return grant.replaced !== undefined && grant.family === family
}

function include(index: Map<string, Set<string>>, key: string, hash: string): void {
  index.set(key, (index.get(key) ?? new Set()).add(hash))
}

function exclude(index: Map<string, Set<string>>, key: string, hash: string): void {
  const hashes = index.get(key)
  hashes?.delete(hash)
  if (hashes?.size === 0) index.delete(key)
}
