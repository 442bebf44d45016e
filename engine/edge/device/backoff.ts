// How long a device waits before it reconnects. The waits are random, so that a fleet does not return all at once.

const FIRST_MS = 500
const LONGEST_MS = 30_000
/** A refusal is unlikely to change within seconds. */
const REFUSED_FIRST_MS = 12_000
const REFUSED_LONGEST_MS = 60_000

/** `failures` counts the attempts since the last accepted connection; `random` is between 0 and 1. */
export function waitBeforeConnect(failures: number, wasRefused: boolean, random: number): number {
  if (wasRefused) return Math.min(REFUSED_LONGEST_MS, REFUSED_FIRST_MS * (1 + random))
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 16))
  // At most one attempt per second once attempts fail.
  return Math.max(failures > 1 ? 1_000 : 0, random * ceiling)
}

/** A connection that breaks sooner is as good as none: another program may have the same id, or the storage may be full. */
const STEADY_MS = 5_000

/** Counts the attempts since the last connection that lasted. */
export class Attempts {
  #failures = 0
  #openedAt: number | undefined

  /** `now` is monotonic. */
  opened(now: number): void {
    this.#openedAt = now
  }

  /** Returns how long to wait before the next attempt. */
  closed({ now, wasRefused, random }: { now: number; wasRefused: boolean; random: number }): number {
    const openMs = this.#openedAt === undefined ? 0 : now - this.#openedAt
    this.#openedAt = undefined
    if (openMs >= STEADY_MS) this.#failures = 0
    return waitBeforeConnect(this.#failures++, wasRefused, random)
  }
}
