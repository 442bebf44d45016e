// Connections to the engine, each of which runs one statement at a time: one for inserts, some for queries, and some
// for streamed results, so that none of these waits for another. The settings of a request are undone before the next
// one on its connection.
//
// Parameters are set per connection as literals in the statement's text. chdb's own interface for parameters has one
// queue for all connections, where a long statement would hold up every query.
import { Session } from 'chdb'
import { LIMITS } from '../../../limits.ts'
import { toSet } from './chdb-statement.ts'

export interface Job {
  readonly statement: string
  /** Settings, and parameters as `param_<name>`. */
  readonly values: ReadonlyMap<string, string>
  readonly isInsert: boolean
}

interface PendingJob {
  readonly job: Job
  readonly resolve: (result: Uint8Array) => void
  readonly reject: (cause: unknown) => void
}

const FORMAT_DEFAULT = 'TabSeparated'
const TOO_MANY = 'Code: 202. DB::Exception: Too many statements at once. (TOO_MANY_SIMULTANEOUS_QUERIES)'
const DEFAULT_SETTINGS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    async_insert: 0,
    max_memory_usage: LIMITS.telemetryQueryMemoryBytesMax,
    max_bytes_before_external_group_by: LIMITS.telemetrySpillBytes,
    max_bytes_before_external_sort: LIMITS.telemetrySpillBytes,
    max_insert_threads: 1,
  }).map(([name, value]) => [name, String(value)]),
)

/** Connections with one queue. */
class ConnectionGroup {
  readonly #pendingMax: number
  readonly #pending: PendingJob[] = []
  readonly #idle: Connection[]
  #running = 0

  constructor(path: string, count: number, pendingMax: number) {
    this.#pendingMax = pendingMax
    this.#idle = Array.from({ length: count }, () => new Connection(path))
  }

  get running(): number {
    return this.#running
  }

  run(job: Job): Promise<Uint8Array> {
    const isFull = this.#idle.length === 0 && this.#pending.length >= this.#pendingMax
    if (isFull) return Promise.reject(new Error(TOO_MANY))
    return new Promise((resolve, reject) => {
      this.#pending.push({ job, resolve, reject })
      this.#next()
    })
  }

  close(): void {
    for (const connection of this.#idle) connection.close()
    this.#idle.length = 0
  }

  #next(): void {
    const [pending] = this.#pending
    const connection = pending === undefined ? undefined : this.#idle.pop()
    if (pending === undefined || connection === undefined) return
    this.#pending.shift()
    this.#running++
    const done = () => {
      this.#running--
      this.#idle.push(connection)
      this.#next()
    }
    connection.run(pending.job).then(pending.resolve, pending.reject).then(done, done)
  }
}

class Connection {
  readonly #session: Session
  /** Names of the settings that the last statement changed. */
  #changed: Iterable<string> = []

  constructor(path: string) {
    this.#session = new Session(path)
    this.#session.query(toSet(DEFAULT_SETTINGS, [], DEFAULT_SETTINGS))
  }

  async run({ statement, values }: Job): Promise<Uint8Array> {
    const set = toSet(values, this.#changed, DEFAULT_SETTINGS)
    // Settings may have changed even if the statement fails. Parameters need no undoing.
    this.#changed = [...values.keys()].filter((name) => !name.startsWith('param_'))
    const format = FORMAT_DEFAULT
    const result = await this.#session.queryAsync(`${set}${statement}`, { format }).catch(async (cause) => {
      // The engine keeps a failed statement and its memory until the connection's next one.
      await this.#session.queryAsync('SELECT 1')
      throw cause
    })
    return result.bytes()
  }

  close(): void {
    this.#session.close()
  }
}

/** The engine of one data directory. A process can have one. */
export class Chdb {
  /** Keeps the engine alive while connections come and go. */
  readonly #anchor: Session
  readonly #inserts: ConnectionGroup
  readonly #queries: ConnectionGroup
  readonly #streams: ConnectionGroup

  /** Throws while another process holds the directory. */
  constructor(path: string, engineArgs: readonly string[]) {
    this.#anchor = new Session(path, { connectionArgs: [...engineArgs] })
    this.#inserts = new ConnectionGroup(path, 1, LIMITS.telemetryQueriesWaitingMax)
    this.#queries = new ConnectionGroup(
      path,
      LIMITS.telemetryQueriesAtOnceMax,
      LIMITS.telemetryQueriesWaitingMax,
    )
    this.#streams = new ConnectionGroup(path, LIMITS.telemetryStreamsAtOnceMax, 0)
  }

  run(job: Job): Promise<Uint8Array> {
    return (job.isInsert ? this.#inserts : this.#queries).run(job)
  }

  /** Runs a statement that takes as long as the reader of its rows does. It is refused rather than queued. */
  stream(job: Job): Promise<Uint8Array> {
    return this.#streams.run(job)
  }

  /** The number of statements being executed. */
  get running(): number {
    return this.#inserts.running + this.#queries.running + this.#streams.running
  }

  close(): void {
    this.#inserts.close()
    this.#queries.close()
    this.#streams.close()
    this.#anchor.close()
  }
}
