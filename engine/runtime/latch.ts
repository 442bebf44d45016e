/** Lets one loop sleep until there is work for it. A latch that is set while the loop is awake is not missed. */
export class Latch {
  #isSet = false
  #resolve: (() => void) | undefined

  set(): void {
    this.#isSet = true
    this.#resolve?.()
    this.#resolve = undefined
  }

  /** Resolves once the latch is set, and resets it. */
  wait(): Promise<void> {
    if (this.#isSet) {
      this.#isSet = false
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      this.#resolve = () => {
        this.#isSet = false
        resolve()
      }
    })
  }
}
