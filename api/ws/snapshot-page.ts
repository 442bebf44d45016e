// Builds the text of one snapshot frame.

interface PageTotals {
  /** Number of items on all pages. Undefined if they were not counted. */
  readonly total: number | undefined
  readonly isMore: boolean
}

/** The items of one snapshot frame, up to a limit in bytes. */
export class Page {
  readonly #id: string
  readonly #totals: PageTotals
  readonly #bytesMax: number
  readonly #items: string[] = []
  #bytes = 0
  isFull = false

  constructor(id: string, totals: PageTotals, limits: { readonly snapshotBytesMax: number }) {
    this.#id = id
    this.#totals = totals
    this.#bytesMax = limits.snapshotBytesMax
  }

  /** Adds all of the items or none. */
  add(items: readonly string[]): boolean {
    for (const item of items) this.#bytes += Buffer.byteLength(item) + 1
    this.isFull = this.#bytes > this.#bytesMax
    if (!this.isFull) this.#items.push(...items)
    return !this.isFull
  }

  close(): string {
    const { total, isMore } = this.#totals
    const head = `{"type":"snapshot","id":${JSON.stringify(this.#id)},"data":[${this.#items.join(',')}]`
    const count = total === undefined ? '' : `,"total":${total}`
    return `${head}${count},"truncated":${this.isFull || isMore}}`
  }
}
