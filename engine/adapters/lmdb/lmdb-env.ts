// One LMDB file with several named tables, group commit, and recovery from failed writes.
//
// E1. Writes queue up. A transaction takes all writes that are queued when it starts (group commit).
// - A write resolves after its commit; with durability `power`, after the fsync of data and root page.
// - After a failed commit the environment is reopened before the next write: LMDB may have declared it dead, and
//   repeating the fsync of the same pages proves nothing. Reads continue meanwhile.
// E4. When the system refuses to write a page, LMDB 3.5.6 overflows the buffer of its error message
//     (`mdb_page_flush`) and damages the heap. So free space is checked before each commit, and after such a failure
//     nothing more is written: the process must restart. Everything acknowledged is safe.
import { closeSync, existsSync, fsyncSync, openSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Database, open, type RangeOptions, type RootDatabase } from 'lmdb'
import { LIMITS } from '../../limits.ts'
import type { Durability } from '../../ports/log.ts'

export type Key = string | number
type Table = Database<Uint8Array, Key>

/** A put, or a removal if there is no value. Values are not copied: do not change them until the write is settled. */
export interface Change {
  readonly table: string
  readonly key: Key
  readonly value?: Uint8Array
}

export interface LmdbEnvOptions {
  readonly path: string
  readonly durability: Durability
  readonly tables: readonly string[]
  /** Opens the file next to the process that writes it, without creating or changing anything. */
  readonly isReadOnly?: boolean
  /** Free space on the disk that a write leaves. */
  readonly reserveBytes?: number
  /** Called after the file was reopened following a failure. If it throws, writes stay refused. */
  readonly onReopened?: () => void
}

/** A commit failed, and none of its changes was stored. */
export class CommitError extends Error {
  override readonly name = 'CommitError'
  /** The disk or the file is full. Everything else is intact. */
  readonly isFull: boolean
  /** This process cannot write any more and must restart (E4). */
  readonly isFinal: boolean

  constructor(message: string, kind: { isFull?: boolean; isFinal?: boolean; cause?: unknown } = {}) {
    super(message, { cause: kind.cause })
    this.isFull = kind.isFull ?? false
    this.isFinal = kind.isFinal ?? false
  }
}

/** Changes per transaction. Further ones wait for the next. */
const GROUP_CHANGES_MAX = 20_000
/** Estimate of the pages that one change rewrites on the path to its leaf. */
const CHANGE_BYTES = 8_192

interface QueuedWrite {
  readonly changes: readonly Change[]
  readonly resolve: () => void
  readonly reject: (error: CommitError) => void
}

interface EntryRange {
  /** The beginning of the keys. Undefined: the whole table. */
  readonly prefix?: string
  readonly limit?: number
}

export class LmdbEnv {
  readonly #options: LmdbEnvOptions
  readonly #tables = new Map<string, Table>()
  #root: RootDatabase<Uint8Array, Key> | undefined
  #queue: QueuedWrite[] = []
  #draining: Promise<void> | undefined
  #isSuspect = false
  #finalError: CommitError | undefined
  #isClosed = false
  #isFileClosed = false

  constructor(options: LmdbEnvOptions) {
    this.#options = options
    this.#root = this.#open()
  }

  /** False if the file was opened for reading only and lacks the table. */
  has(table: string): boolean {
    return this.#tables.has(table)
  }

  /** Returns a view that is valid only until the next read. */
  peek(table: string, key: Key): Uint8Array | undefined {
    return this.#table(table).getBinaryFast(key)
  }

  read(table: string, key: Key): Uint8Array | undefined {
    return this.#table(table).getBinary(key)
  }

  /** Entries in key order. The caller must not await while reading them, so that no write comes in between. */
  *entries(table: string, range: EntryRange = {}): Generator<{ key: Key; value: Uint8Array }, void> {
    for (const entry of this.#table(table).getRange(toLmdbRange(range))) {
      if (!String(entry.key).startsWith(range.prefix ?? '')) return
      yield entry
    }
  }

  /** The keys of these entries, without their values. */
  *keys(table: string, range: EntryRange = {}): Generator<Key, void> {
    for (const key of this.#table(table).getKeys(toLmdbRange(range))) {
      if (!String(key).startsWith(range.prefix ?? '')) return
      yield key
    }
  }

  /** The first entries in key order, up to this many bytes of values, but at least one if there is any. */
  readFirst(table: string, bytesMax: number): { key: Key; value: Uint8Array }[] {
    const entries: { key: Key; value: Uint8Array }[] = []
    let bytes = 0
    for (const entry of this.#table(table).getRange({})) {
      bytes += entry.value.length
      if (entries.length > 0 && bytes > bytesMax) break
      entries.push(entry)
    }
    return entries
  }

  /** Size of a table in bytes, in whole pages. */
  bytesOf(table: string): number {
    // LMDB reports this for every table, but the types of its client lack it.
    const stats = this.#table(table).getStats() as Readonly<Record<string, number>>
    const pages = (stats['treeLeafPageCount'] ?? 0) + (stats['overflowPages'] ?? 0)
    return pages * (stats['pageSize'] ?? 0)
  }

  /** The first and the last key. Undefined for an empty table. */
  keyRange(table: string): { readonly first: Key; readonly last: Key } | undefined {
    const [first] = this.#table(table).getKeys({ limit: 1 })
    const [last] = this.#table(table).getKeys({ limit: 1, reverse: true })
    return first === undefined || last === undefined ? undefined : { first, last }
  }

  /** Writes all changes atomically, in the order of the calls. Rejects with a `CommitError`. */
  write(changes: readonly Change[]): Promise<void> {
    if (this.#isClosed) return Promise.reject(new CommitError('the file is closed'))
    return new Promise((resolve, reject) => {
      this.#queue.push({ changes, resolve, reject })
      this.#draining ??= this.#drainQueue()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#draining
    this.#isFileClosed = true
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
      // This option would make a commit visible before it is durable.
      overlappingSync: false,
      noSync: durability === 'process',
      // E1 already groups writes; the client's own batching would only add a turn of the event loop.
      eventTurnBatching: false,
      commitDelay: 0,
      // The file holds password hashes and secrets. LMDB supports this option, but its types lack it.
      permissionsMode: 0o600,
    }
    const isNew = !existsSync(path)
    const root = open<Uint8Array, Key>(settings)
    for (const name of tables) {
      // No table is created in a file opened for reading only, and an older release may lack some. The types do not say so.
      const table: Table | undefined = root.openDB(name, { encoding: 'binary' })
      if (table !== undefined) this.#tables.set(name, table)
    }
    // Without an fsync of the directory a power cut could lose the name of a new file, and so the file.
    if (isNew && durability === 'power') syncPath(dirname(path))
    return root
  }

  #table(name: string): Table {
    this.#openRoot()
    const table = this.#tables.get(name)
    if (table === undefined) throw new Error(`there is no table ${name}`)
    return table
  }

  async #drainQueue(): Promise<void> {
    while (this.#queue.length > 0) {
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
    this.#draining = undefined
  }

  #takeGroup(): readonly QueuedWrite[] {
    let taken = 0
    let size = 0
    for (const { changes } of this.#queue) {
      if (taken > 0 && size + changes.length > GROUP_CHANGES_MAX) break
      size += changes.length
      taken++
    }
    return this.#queue.splice(0, taken)
  }

  async #commit(changes: readonly Change[]): Promise<void> {
    if (this.#finalError !== undefined) throw this.#finalError
    const [only] = changes
    if (only === undefined) return
    if (!this.#hasRoom(changes)) throw new CommitError('the disk is full', { isFull: true })
    if (this.#isSuspect) await this.#reopen()
    if (changes.length === 1) await this.#apply(only)
    else
      await this.#openRoot().batch(() => {
        // The promise of the batch reports all failures.
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
    // See E4.
    if (isFinal) this.#finalError = failure
    return failure
  }

  #hasRoom(changes: readonly Change[]): boolean {
    let needed = this.#options.reserveBytes ?? LIMITS.diskReserveBytes
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
    this.#isFileClosed = true
    await before?.close()
    this.#isFileClosed = false
    this.#openRoot()
    this.#options.onReopened?.()
    this.#isSuspect = false
  }

  /** Reopens the file if that failed before, so that reads need not wait for the next write. */
  #openRoot(): RootDatabase<Uint8Array, Key> {
    // LMDB shares one environment per file, so the old one must be closed before a new one can be opened.
    if (this.#isFileClosed) throw new Error('the file is closed')
    this.#root ??= this.#open()
    return this.#root
  }
}

/** LMDB reports a failed commit by the error and by a second promise, which is rejected in the same turn. Nobody else
 *  waits for that promise, so without this handler it would end the process as an unhandled rejection. */
function causeOf(error: unknown): Promise<unknown> | unknown {
  const detail = error instanceof Error && 'commitError' in error ? error.commitError : undefined
  return detail instanceof Promise ? detail.catch((cause: unknown) => cause) : error
}

/** Makes a file durable, or the entries of a directory. */
export function syncPath(path: string): void {
  const opened = openSync(path, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

function toLmdbRange({ prefix, limit }: EntryRange): RangeOptions {
  return { ...(prefix === undefined ? {} : { start: prefix }), ...(limit === undefined ? {} : { limit }) }
}
