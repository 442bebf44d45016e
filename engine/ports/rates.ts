// What all nodes together took of limits that count for all of them. Each node judges by what it knows, at once, and says
// now and then what it took: so it learns what the others have. Nothing of it is durable, as all of it is soon paid off.

export interface RateUse {
  readonly key: string
  /** Time in which the limit allows one more. */
  readonly stepMs: number
  /** Negative when they are given back. */
  readonly count: number
  /** Time since the first of them was taken. */
  readonly ageMs: number
}

export interface SharedRates {
  /** Resolves, for each in its order, with the milliseconds until all that any node took is paid off; 0 or less if it is.
   *  Rejects with a `STORE_UNAVAILABLE` fault. */
  take(taken: readonly RateUse[]): Promise<readonly number[]>
}
