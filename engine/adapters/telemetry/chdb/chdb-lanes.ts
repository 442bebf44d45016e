// Connections to the engine, each running one statement at a time: one for inserts, some for questions, some for
// results that are streamed, so that none waits for the others. What a request sets is undone before the next one on
// its connection.
//
// Parameters are set per connection, in the statement's own text, as literals: chdb's parameter API is one queue for
// all connections, and a long statement in it would hold up every query.
import { Session } from 'chdb'
import { LIMITS } from '../../../limits.ts'
import { keepsState, toSet } from './chdb-statement.ts'

export interface Job {
  readonly statement: string
  /** Settings, and parameters as `param_<name>`. */
  readonly values: ReadonlyMap<string, string>
  readonly format: string
  readonly isInsert: boolean
}

export interface JobResult {
  readonly bytes: Uint8Array
  readonly rowsRead: number
  readonly bytesRead: number
  readonly elapsedSec: number
}

/** There are as many statements waiting as there may be. */
export class TooManyQueries extends Error {}

const FIRST_VALUES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    async_insert: 0,
    max_memory_usage: LIMITS.telemetryQueryMemoryBytesMax,
    max_bytes_before_external_group_by: LIMITS.telemetrySpillBytes,
    max_bytes_before_external_sort: LIMITS.telemetrySpillBytes,
    max_insert_threads: 1,
  }).map(([name, value]) => [name, String(value)]),
)

interface Waiting {
  readonly job: Job
  readonly resolve: (result: JobResult) => void
  readonly reject: (cause: unknown) => void
}

/** A group of connections with one queue. */
class Lanes {
  readonly #path: string
  readonly #waitingMax: number
  readonly #waiting: Waiting[] = []
  readonly #idle: Connection[]
  #running = 0

  constructor(path: string, count: number, waitingMax: number) {
    this.#path = path
    this.#waitingMax = waitingMax
    this.#idle = Array.from({ length: count }, () => new Connection(path))
  }

  get running(): number {
    return this.#running
  }

  run(job: Job): Promise<JobResult> {
    const isFull = this.#idle.length === 0 && this.#waiting.length >= this.#waitingMax
    if (isFull) return Promise.reject(new TooManyQueries())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject })
      this.#next()
    })
  }

  close(): void {
    for (const connection of this.#idle) connection.close()
    this.#idle.length = 0
  }

  #next(): void {
    const connection = this.#idle.pop()
    if (connection === undefined) return
    const waiting = this.#waiting.shift()
    if (waiting === undefined) {
      this.#idle.push(connection)
      return
    }
    this.#running++
    const { job, resolve, reject } = waiting
    const done = () => {
      this.#running--
      if (keepsState(job.statement)) connection.close()
      this.#idle.push(keepsState(job.statement) ? new Connection(this.#path) : connection)
      this.#next()
    }
    connection.run(job).then(resolve, reject).then(done, done)
  }
}

class Connection {
  readonly #session: Session
  /** Set by the last statement; undefined names are as they were at first. */
  #set: Iterable<string> = []

  constructor(path: string) {
    this.#session = new Session(path)
    this.#session.query(toSet(FIRST_VALUES, [], FIRST_VALUES))
  }

  async run({ statement, values, format }: Job): Promise<JobResult> {
    const set = toSet(values, this.#set, FIRST_VALUES)
    // Whatever becomes of the statement: its values may have been taken. Parameters need no undoing.
    this.#set = [...values.keys()].filter((name) => !name.startsWith('param_'))
    const result = await this.#session.queryAsync(`${set}${statement}`, { format }).catch(async (cause) => {
      // A statement that failed is kept, with its memory, until the next one of its connection.
      await this.#session.queryAsync('SELECT 1')
      throw cause
    })
    const { rowsRead, bytesRead, elapsed } = result
    return { bytes: result.bytes(), rowsRead, bytesRead, elapsedSec: elapsed }
  }

  close(): void {
    this.#session.close()
  }
}

/** The engine of one data directory; a process has one. */
export class Chdb {
  /** Keeps the engine alive while connections come and go. */
  readonly #anchor: Session
  readonly #inserts: Lanes
  readonly #queries: Lanes
  readonly #streams: Lanes

  /** Throws while another process holds the directory. */
  constructor(path: string, engineArgs: readonly string[]) {
    this.#anchor = new Session(path, { connectionArgs: [...engineArgs] })
    this.#inserts = new Lanes(path, 1, LIMITS.telemetryQueriesWaitingMax)
    this.#queries = new Lanes(path, LIMITS.telemetryQueriesAtOnceMax, LIMITS.telemetryQueriesWaitingMax)
    this.#streams = new Lanes(path, LIMITS.telemetryStreamsAtOnceMax, 0)
  }

  run(job: Job): Promise<JobResult> {
    return (job.isInsert ? this.#inserts : this.#queries).run(job)
  }

  /** For a statement that takes as long as the reader of its rows does: none waits for another's reader. */
  stream(job: Job): Promise<JobResult> {
    return this.#streams.run(job)
  }

  /** Statements under way. */
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
