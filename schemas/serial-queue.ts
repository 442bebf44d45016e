/** Runs one piece of work at a time, in the order in which they were added. A failure does not stop those behind it. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => {
      // The caller gets the error.
    })
    return result
  }
}
