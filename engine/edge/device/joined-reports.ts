// Reports of a state, one under way at a time. What comes meanwhile is put together, so that an older report never comes last.
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'

export class JoinedReports {
  readonly #report: (patch: JsonObject) => Promise<unknown>
  readonly #failed: (error: unknown) => void
  #waiting: JsonObject | undefined
  #isReporting = false

  constructor(report: (patch: JsonObject) => Promise<unknown>, failed: (error: unknown) => void) {
    this.#report = report
    this.#failed = failed
  }

  add(patch: JsonObject): void {
    this.#waiting = this.#waiting === undefined ? patch : merged(this.#waiting, patch)
    if (!this.#isReporting) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isReporting = true
    while (this.#waiting !== undefined) {
      const patch = this.#waiting
      this.#waiting = undefined
      try {
        await this.#report(patch)
      } catch (error) {
        this.#failed(error)
      }
    }
    this.#isReporting = false
  }
}

/** One merge patch that does what both do. */
function merged(before: JsonObject, after: JsonObject): JsonObject {
  const both: Record<string, Json> = { ...before }
  for (const [key, value] of Object.entries(after)) {
    const old = both[key]
    both[key] = old !== undefined && isObject(old) && isObject(value) ? merged(old, value) : value
  }
  return both
}
