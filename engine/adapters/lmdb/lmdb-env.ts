// One LMDB file: several named tables, one write transaction at a time, and a clean way through failures.
//
// E1. Writes wait in one line. All that wait when a transaction starts go into it together (group commit).
// E2. A write resolves after its commit: with durability `power` after the fsync of data and root page.
// E3. After a failed commit the environment is closed and opened again before the next write: LMDB may have
//     declared it dead, and a second fsync of the same pages proves nothing. Reads go on in between.
// E4. When the system refuses to write a page, LMDB 3.5.6 describes that in a buffer too small for its words
//     (`mdb_page_flush`) and damages the heap. So free space is looked up before each commit, and after such a refusal
//     nothing more is written: the process should end and start again. What was promised is safe.
import { closeSync, existsSync, fsyncSync, openSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { LIMITS } from '../../limits.ts'
import type { Durability } from '../../ports/log.ts'

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
  /** Beside the process that writes: nothing is made or changed. */
  readonly isReadOnly?: boolean
  /** Called when the file was opened again after a failure; throwing keeps it closed for writes. */
  readonly reopened?: () => void
}

/** A commit that failed; nothing of it counts. */
export class CommitError extends Error {
  override readonly name = 'CommitError'
  /** There is no room; nothing else is wrong. */
  readonly isFull: boolean
  /** Nothing more can be written in this life of the process, see E4. */
  readonly isFinal: boolean

  constructor(message: string, kind: { isFull?: boolean; isFinal?: boolean; cause?: unknown } = {}) {
    super(message, { cause: kind.cause })
    this.isFull = kind.isFull ?? false
    this.isFinal = kind.isFinal ?? false
  }
}

/** Changes of one transaction; more wait for the next. */
const GROUP_CHANGES_MAX = 20_000
/** What a change may cost in pages that are written anew on the way to it. */
const CHANGE_BYTES = 8_192

interface Waiting {
  readonly changes: readonly Change[]
  readonly resolve: () => void
  readonly reject: (error: CommitError) => void
}

export class LmdbEnv {
  readonly #options: LmdbEnvOptions
  readonly #tables = new Map<string, Table>()
  #root: RootDatabase<Uint8Array, Key> | undefined
  #waiting: Waiting[] = []
  #pumping: Promise<void> | undefined
  #isSuspect = false
  #final: CommitError | undefined
  #isClosed = false
  #isShut = false

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

  /** Entries in key order from the first one on, at least one if there is any, until their values are so large. */
  readSome(table: string, bytesMax: number): { key: Key; value: Uint8Array }[] {
    const entries: { key: Key; value: Uint8Array }[] = []
    let bytes = 0
    for (const entry of this.#table(table).getRange({})) {
      bytes += entry.value.length
      if (entries.length > 0 && bytes > bytesMax) break
      entries.push(entry)
    }
    return entries
  }

  /** Up to `limit` keys after `after` (from the first one if undefined), in order. */
  readKeys(table: string, after: Key | undefined, limit: number): Key[] {
    const start = after === undefined ? {} : { start: after, exclusiveStart: true }
    return [...this.#table(table).getKeys({ ...start, limit })]
  }

  /** What a table takes up, in whole pages. */
  bytesOf(table: string): number {
    // Known to LMDB for every table, untyped in its client.
    const stats = this.#table(table).getStats() as Readonly<Record<string, number>>
    const pages = (stats['treeLeafPageCount'] ?? 0) + (stats['overflowPages'] ?? 0)
    return pages * (stats['pageSize'] ?? 0)
  }

  /** The first and the last key; undefined for an empty table. */
  ends(table: string): { readonly first: Key; readonly last: Key } | undefined {
    const [first] = this.#table(table).getKeys({ limit: 1 })
    const [last] = this.#table(table).getKeys({ limit: 1, reverse: true })
    return first === undefined || last === undefined ? undefined : { first, last }
  }

  /** All or nothing, in the order of the calls. Rejects with a `CommitError`. */
  write(changes: readonly Change[]): Promise<void> {
    if (this.#isClosed) return Promise.reject(new CommitError('the file is closed'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ changes, resolve, reject })
      this.#pumping ??= this.#pump()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#pumping
    this.#isShut = true
    await this.#root?.close()
  }

  #open(): RootDatabase<Uint8Array, Key> {
    const { path, durability, tables, isReadOnly = false } = this.#options
    const settings = {
      readOnly: isReadOnly,
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
    const isNew = !existsSync(path)
    const root = open<Uint8Array, Key>(settings)
    for (const name of tables) this.#tables.set(name, root.openDB(name, { encoding: 'binary' }))
    // A new file whose name is lost in a power cut is lost with it.
    if (isNew && durability === 'power') syncDirectory(dirname(path))
    return root
  }

  #table(name: string): Table {
    this.#opened()
    const table = this.#tables.get(name)
    if (table === undefined) throw new Error(`no table ${name}`)
    return table
  }

  async #pump(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup()
      const changes = group.flatMap((waiting) => waiting.changes)
      try {
        await this.#commit(changes)
        for (const { resolve } of group) resolve()
      } catch (error) {
        const failure = await this.#failureOf(error, changes)
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
    if (this.#final !== undefined) throw this.#final
    const [only] = changes
    if (only === undefined) return
    if (!this.#hasRoom(changes)) throw new CommitError('the disk is full', { isFull: true })
    if (this.#isSuspect) await this.#reopen()
    if (changes.length === 1) await this.#apply(only)
    else
      await this.#opened().batch(() => {
        // The batch's own promise tells of all of them.
        for (const change of changes) void this.#apply(change)
      })
  }

  async #failureOf(error: unknown, changes: readonly Change[]): Promise<CommitError> {
    if (error instanceof CommitError) return error
    this.#isSuspect = true
    const cause = await causeOf(error)
    const message = cause instanceof Error ? cause.message : 'commit failed'
    const isFinal = message.includes('Attempting to write page')
    const failure = new CommitError(message, { isFull: !isFinal && !this.#hasRoom(changes), isFinal, cause })
    // by E4
    if (isFinal) this.#final = failure
    return failure
  }

  #hasRoom(changes: readonly Change[]): boolean {
    let needed = LIMITS.diskReserveBytes
    for (const { value } of changes) needed += CHANGE_BYTES + (value?.length ?? 0) * 2
    const { bavail, bsize } = statfsSync(dirname(this.#options.path))
    return bavail * bsize >= needed
  }

  #apply({ table, key, value }: Change): Promise<boolean> {
    return value === undefined ? this.#table(table).remove(key) : this.#table(table).put(key, value)
  }

  async #reopen(): Promise<void> {
    const before = this.#root
    this.#root = undefined
    this.#isShut = true
    await before?.close()
    this.#isShut = false
    this.#opened()
    this.#options.reopened?.()
    this.#isSuspect = false
  }

  /** Opens the file if it could not be opened after a failure: reads must not wait for the next write. */
  #opened(): RootDatabase<Uint8Array, Key> {
    // LMDB gives every opener of one file the same environment: it must be gone before there can be a new one.
    if (this.#isShut) throw new Error('the file is closed')
    this.#root ??= this.#open()
    return this.#root
  }
}

/** What LMDB says of a failed commit comes as a second promise beside the error. It is rejected in the same turn
 *  and nobody else waits for it: left alone it would end the process as an unhandled rejection. */
function causeOf(error: unknown): Promise<unknown> | unknown {
  const detail = error instanceof Error && 'commitError' in error ? error.commitError : undefined
  return detail instanceof Promise ? detail.catch((cause: unknown) => cause) : error
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}
