/** Lets one loop sleep until somebody has work for it; a poke while it is awake is not lost. */
export class Wake {
  #isPoked = false
  #resolve: (() => void) | undefined

  poke(): void {
    this.#isPoked = true
    this.#resolve?.()
    this.#resolve = undefined
  }

  wait(): Promise<void> {
    if (this.#isPoked) {
      this.#isPoked = false
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      this.#resolve = () => {
        this.#isPoked = false
        resolve()
      }
    })
  }
}
