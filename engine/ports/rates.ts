// Rate limits that all nodes share. Each node decides immediately by what it knows, and now and then reports what it took
// and learns what the others took. Nothing is durable, because all debts expire soon.

export interface RateUse {
  readonly key: string
  /** Time after which the limit allows one more. */
  readonly stepMs: number
  /** Negative if tokens are given back. */
  readonly count: number
  /** Time since the first token was taken. */
  readonly ageMs: number
}

export interface SharedRates {
  /** Resolves, in order, with the milliseconds until everything that any node took is paid off; 0 or less if it is
   *  already. Rejects with a `STORE_UNAVAILABLE` fault. */
  take(taken: readonly RateUse[]): Promise<readonly number[]>
}
