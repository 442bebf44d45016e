// Requests for an answer that moves on, a range up to now for example. The oldest that is under way is let end and shown:
// where answers take longer than the range takes to move, nothing else would ever be shown. The newest is under way beside
// it, and those between are given up.

/** The controller's own signal tells that the request was given up. */
export interface MovingRequest {
  readonly shape: string
  readonly controller: AbortController
}

export class NewestRequests {
  /** Oldest first, two at most, all of one shape. */
  #underWay: readonly MovingRequest[] = []

  get isAny(): boolean {
    return this.#underWay.length > 0
  }

  /** Gives up what is about another shape, and what is neither the oldest nor this one. */
  begin(shape: string): MovingRequest {
    const request = { shape, controller: new AbortController() }
    const oldest = this.#underWay.filter((earlier) => earlier.shape === shape).slice(0, 1)
    this.#keep([...oldest, request])
    return request
  }

  /** False when the request was given up. What is older than an answer is not shown any more. */
  end(request: MovingRequest): boolean {
    const place = this.#underWay.indexOf(request)
    if (place < 0) return false
    this.#keep(this.#underWay.slice(place + 1))
    return true
  }

  stop(): void {
    this.#keep([])
  }

  #keep(kept: readonly MovingRequest[]): void {
    const before = this.#underWay
    this.#underWay = kept
    for (const earlier of before) if (!kept.includes(earlier)) earlier.controller.abort()
  }
}
