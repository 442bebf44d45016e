// One LMDB file: several named tables, one write transaction at a time, and a clean way through failures.
//
// E1. Writes wait in one line. All that wait when a transaction starts go into it together (group commit).
// E2. A write resolves after its commit: with durability `power` after the fsync of data and root page.
// E3. After a failed commit the environment is closed and opened again before the next write: LMDB may have
//     declared it dead, and a second fsync of the same pages proves nothing. Reads go on in between.
import { type Database, open, type RootDatabase } from 'lmdb'

/** `power`: a resolved write survives a power cut. `process`: it survives any crash of the process. */
export type Durability = 'power' | 'process'
export type Key = string | number
type Table = Database<Uint8Array, Key>

/** A put, or a removal if there is no value. Values are not copied: hands off until the write is settled. */
export interface Change {
  readonly table: string
  readonly key: Key
  readonly value?: Uint8Array
}

export interface LmdbEnvOptions {
  readonly path: string
  readonly durability: Durability
  readonly tables: readonly string[]
  /** Called when the file was opened again after a failure; throwing keeps it closed for writes. */
  readonly reopened?: () => void
}

/** A commit that failed; nothing of it counts. `full`: for want of space. */
export class CommitError extends Error {
  override readonly name = 'CommitError'
  readonly full: boolean

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : 'commit failed', { cause })
    this.full = FULL.has(errnoOf(cause))
  }
}

/** EFBIG, ENOSPC, EDQUOT. */
const FULL: ReadonlySet<unknown> = new Set([27, 28, 122])
/** Changes of one transaction; more wait for the next. */
const GROUP_CHANGES_MAX = 20_000

interface Waiting {
  readonly changes: readonly Change[]
  readonly resolve: () => void
  readonly reject: (error: CommitError) => void
}

export class LmdbEnv {
  readonly #options: LmdbEnvOptions
  readonly #tables = new Map<string, Table>()
  #root: RootDatabase<Uint8Array, Key>
  #waiting: Waiting[] = []
  #pumping: Promise<void> | undefined
  #isSuspect = false
  #isClosed = false

  constructor(options: LmdbEnvOptions) {
    this.#options = options
    this.#root = this.#open()
  }

  /** A view that is only valid until the next read. */
  peek(table: string, key: Key): Uint8Array | undefined {
    return this.#table(table).getBinaryFast(key)
  }

  read(table: string, key: Key): Uint8Array | undefined {
    return this.#table(table).getBinary(key)
  }

  /** Up to `limit` entries after `after` (from the first one if undefined), in key order. */
  readRange(table: string, after: Key | undefined, limit: number): { key: Key; value: Uint8Array }[] {
    const start = after === undefined ? {} : { start: after, exclusiveStart: true }
    return [...this.#table(table).getRange({ ...start, limit })]
  }

  /** The first and the last key; undefined for an empty table. */
  ends(table: string): { readonly first: Key; readonly last: Key } | undefined {
    const [first] = this.#table(table).getKeys({ limit: 1 })
    const [last] = this.#table(table).getKeys({ limit: 1, reverse: true })
    return first === undefined || last === undefined ? undefined : { first, last }
  }

  /** All or nothing, in the order of the calls. Rejects with a `CommitError`. */
  write(changes: readonly Change[]): Promise<void> {
    if (this.#isClosed) return Promise.reject(new CommitError(new Error('the file is closed')))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ changes, resolve, reject })
      this.#pumping ??= this.#pump()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#pumping
    await this.#root.close()
  }

  #open(): RootDatabase<Uint8Array, Key> {
    const { path, durability, tables } = this.#options
    const settings = {
      path,
      encoding: 'binary' as const,
      maxDbs: tables.length + 2,
      noSubdir: true,
      // With it a commit is visible before it is durable.
      overlappingSync: false,
      noSync: durability === 'process',
      // E1 groups already; their own batching would only add a lap of the event loop.
      eventTurnBatching: false,
      commitDelay: 0,
      // Passwords' hashes and secrets are nobody else's business; known to LMDB, missing in its types.
      permissionsMode: 0o600,
    }
    const root = open<Uint8Array, Key>(settings)
    for (const name of tables) this.#tables.set(name, root.openDB(name, { encoding: 'binary' }))
    return root
  }

  #table(name: string): Table {
    const table = this.#tables.get(name)
    if (table === undefined) throw new Error(`no table ${name}`)
    return table
  }

  async #pump(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup()
      try {
        if (this.#isSuspect) await this.#reopen()
        await this.#commit(group.flatMap(({ changes }) => changes))
        for (const { resolve } of group) resolve()
      } catch (error) {
        this.#isSuspect = true
        const failure = new CommitError(await causeOf(error))
        for (const { reject } of group) reject(failure)
      }
    }
    this.#pumping = undefined
  }

  #takeGroup(): readonly Waiting[] {
    let taken = 0
    let size = 0
    for (const { changes } of this.#waiting) {
      if (taken > 0 && size + changes.length > GROUP_CHANGES_MAX) break
      size += changes.length
      taken++
    }
    return this.#waiting.splice(0, taken)
  }

  async #commit(changes: readonly Change[]): Promise<void> {
    const [only] = changes
    if (only === undefined) return
    if (changes.length === 1) await this.#apply(only)
    else
      await this.#root.batch(() => {
        // The batch's own promise tells of all of them.
        for (const change of changes) void this.#apply(change)
      })
  }

  #apply({ table, key, value }: Change): Promise<boolean> {
    return value === undefined ? this.#table(table).remove(key) : this.#table(table).put(key, value)
  }

  async #reopen(): Promise<void> {
    await this.#root.close()
    this.#root = this.#open()
    this.#options.reopened?.()
    this.#isSuspect = false
  }
}

/** What LMDB says of a failed commit comes as a second promise beside the error. It is rejected in the same turn
 *  and nobody else waits for it: left alone it would end the process as an unhandled rejection. */
function causeOf(error: unknown): Promise<unknown> | unknown {
  const detail = error instanceof Error && 'commitError' in error ? error.commitError : undefined
  return detail instanceof Promise ? detail.catch((cause: unknown) => cause) : error
}

function errnoOf(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined
}
