// The log of a cluster: one JetStream stream that all processes write and read.
//
// - An append is one message (see `jetstream-publisher.ts`), whose sequence is the seq of all its bundles.
// - Messages never expire: `trim` removes those that are settled everywhere, oldest first, and never the newest,
//   which preserves the greatest receive time across a restart. A full stream refuses appends.
// J3. A stream that goes back, because NATS lost its newest messages or was restored from a copy, assigns numbers again
//     that readers have passed. So nothing more is acknowledged and the process ends: the next start compares the stream
//     with the store.

import { strict as assert } from 'node:assert'
import { errorText } from '../../../../schemas/error-text.ts'
import type { Micros, Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import type { Bundle, Log, LogReader, LogSize, Positions } from '../../../ports/log.ts'
import type { NatsLink } from '../../nats/nats-link.ts'
import type { Retention } from '../lmdb/commits.ts'
import { Publisher } from './jetstream-publisher.ts'
import { JetStreamReader } from './jetstream-reader.ts'
import { LogStream, newestReceiveTime, type StreamState } from './jetstream-stream.ts'
import { joinBundles } from './joined-bundles.ts'
import { PartitionEnds } from './partition-ends.ts'

export interface JetStreamLogOptions extends Partial<Retention> {
  /** Prefix of the stream, subject and bucket. Each log has its own. */
  readonly name?: string
  readonly replicas: number
  readonly duplicateWindowMs?: number
  readonly trimEveryMs?: number
  /** Seqs up to this one are in use even if the stream does not know them. */
  readonly notBefore?: Positions
  /** The stream has lost messages that were acknowledged. The process must restart. */
  readonly lost?: (fault: Fault) => void
  readonly warn?: (message: string, about: Readonly<Record<string, unknown>>) => void
}

/** The caller closes the link. */
export async function openJetStreamLog(link: NatsLink, options: JetStreamLogOptions): Promise<Log> {
  const { name = 'fleet', replicas, notBefore = [] } = options
  const stream = new LogStream(link, name)
  const state = await stream.open({
    replicas,
    bytesMax: options.bytesMax ?? LIMITS.logBytesMax,
    duplicateWindowMs: options.duplicateWindowMs ?? LIMITS.natsDuplicateWindowMs,
    notBefore: Math.max(0, ...notBefore),
  })
  return new JetStreamLog(stream, options, { state, latestAt: await newestReceiveTime(stream, state) })
}

class JetStreamLog implements Log {
  readonly #stream: LogStream
  readonly #options: JetStreamLogOptions
  readonly #ends: PartitionEnds
  readonly #publisher: Publisher
  readonly #readers = new Set<JetStreamReader>()
  #latestAt: Micros
  #settled: Positions = new Array<number>(LIMITS.partitions).fill(0)
  #trimmedAt = Number.NEGATIVE_INFINITY
  #isAppending = false
  #lossFault: Fault | undefined
  /** Time since which looks have found the stream behind what is known. */
  #behindSince: number | undefined
  #pollTimer: NodeJS.Timeout | undefined

  constructor(
    stream: LogStream,
    options: JetStreamLogOptions,
    { state, latestAt }: { readonly state: StreamState; readonly latestAt: Micros },
  ) {
    this.#stream = stream
    this.#options = options
    this.#ends = new PartitionEnds(state.lastSeq)
    this.#publisher = new Publisher(stream, options.duplicateWindowMs ?? LIMITS.natsDuplicateWindowMs)
    this.#latestAt = latestAt
  }

  async append(bundles: readonly Bundle[], latestAt: Micros): Promise<readonly number[]> {
    assert(!this.#isAppending, 'a caller has at most one append under way')
    if (bundles.length === 0) return []
    this.#isAppending = true
    try {
      this.#latestAt = latestAt > this.#latestAt ? latestAt : this.#latestAt
      const seq = await this.#publish(joinBundles(bundles, this.#latestAt))
      const partitions = bundles.map(({ partition }) => partition)
      this.#ends.noteMessage(seq, partitions)
      return partitions.map(() => seq)
    } finally {
      this.#isAppending = false
    }
  }

  reader(partitions: readonly Partition[], from: Positions): LogReader {
    const reader = new JetStreamReader({
      stream: this.#stream,
      ends: this.#ends,
      partitions,
      from,
      onMissing: (from, to) => this.#warnOfHole(from, to),
      onClose: (closed) => this.#readers.delete(closed),
    })
    this.#ends.skipTo(reader.position)
    this.#readers.add(reader)
    this.#schedulePoll(0)
    return reader
  }

  ends(): Positions {
    return this.#ends.all
  }

  /** Messages beyond those known here may belong to any partition. */
  async readEnds(): Promise<Positions> {
    try {
      const { lastSeq } = await this.#stream.state()
      this.#ends.skipTo(lastSeq)
    } catch (error) {
      throw unavailable(error)
    }
    return this.#ends.all
  }

  latestAt(): Micros {
    return this.#latestAt
  }

  async size(): Promise<LogSize> {
    try {
      const { firstSeq, lastSeq, bytes } = await this.#stream.state()
      const oldestAt = lastSeq < firstSeq ? undefined : await this.#stream.latestAt(firstSeq)
      return { bytes, bytesMax: this.#options.bytesMax ?? LIMITS.logBytesMax, oldestAt }
    } catch (error) {
      throw unavailable(error)
    }
  }

  async trim(upTo: Positions): Promise<void> {
    this.#settled = this.#settled.map((seq, p) => Math.max(seq, upTo[p] ?? 0))
    const now = performance.now()
    if (now - this.#trimmedAt < (this.#options.trimEveryMs ?? LIMITS.logTrimEveryMs)) return
    this.#trimmedAt = now
    try {
      await this.#trim(false)
    } catch (error) {
      throw unavailable(error)
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#pollTimer)
    this.#publisher.close()
    for (const reader of [...this.#readers]) reader.close()
  }

  async #publish(body: Uint8Array): Promise<number> {
    const after = this.#ends.lastSeq
    const publish = async () => {
      const { seq, isRepeat } = await this.#publisher.publish(body, after)
      if (seq <= after && !isRepeat) throw this.#reportLoss(seq, after)
      return seq
    }
    try {
      return await publish()
    } catch (error) {
      const isFull = error instanceof Fault && error.code === 'LOG_FULL'
      if (!isFull || !(await this.#trim(true).catch(() => false))) throw error
      return publish()
    }
  }

  /** Reports that a stream which reached `known` has only got to `seq`, or that it is gone (J3). */
  #reportLoss(seq: number, known: number): Fault {
    const what = seq === STREAM_MISSING ? 'is gone' : `has gone back from message ${known} to ${seq}`
    this.#lossFault ??= new Fault('LOG_UNAVAILABLE', {
      retryable: false,
      message: `the stream ${this.#stream.name} ${what}: NATS lost what it had acknowledged, or was put back to a copy; the process ends, and its next start says how to go on`,
    })
    this.#options.lost?.(this.#lossFault)
    return this.#lossFault
  }

  /** True if messages were removed. If the stream is nearly full or `isFull`, settled messages go before their time. */
  async #trim(isFull: boolean): Promise<boolean> {
    const state = await this.#stream.state()
    const { firstSeq, lastSeq } = state
    const trimmableUpTo = Math.min(this.#ends.settledUpTo(this.#settled), lastSeq - 1)
    if (trimmableUpTo < firstSeq) return false
    const bytesMax = this.#options.bytesMax ?? LIMITS.logBytesMax
    const isTight = isFull || state.bytes > bytesMax - bytesMax / 16
    // Trims in eighths, so that it neither happens at every append nor removes everything at once.
    const forRoom = isTight ? firstSeq + Math.ceil((lastSeq - firstSeq + 1) / 8) : firstSeq
    const keptFrom = Math.max(forRoom, await this.#firstYoung(firstSeq, trimmableUpTo + 1))
    const keep = Math.min(keptFrom, trimmableUpTo + 1)
    if (keep <= firstSeq) return false
    await this.#stream.removeBefore(keep)
    return true
  }

  /** The first message in [low, high) that is younger than the retention, or `high` if there is none. */
  async #firstYoung(from: number, to: number): Promise<number> {
    const oldest = this.#latestAt - (this.#options.retentionMs ?? LIMITS.logRetentionMs) * 1000
    let low = from
    let high = to
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const latestAt = await this.#stream.latestAt(middle)
      if (latestAt === undefined || latestAt >= oldest) high = middle
      else low = middle + 1
    }
    return low
  }

  /** One answer may come from a server that has just become the stream's leader and is not up to date yet. */
  #checkNotBehind(lastSeq: number, known: number): void {
    if (lastSeq >= known) this.#behindSince = undefined
    else {
      this.#behindSince ??= performance.now()
      if (performance.now() - this.#behindSince >= LIMITS.logBehindMs) this.#reportLoss(lastSeq, known)
    }
  }

  #warnOfHole(from: number, to: number): void {
    this.#options.warn?.(
      'the log no longer has messages that this node was to read; if the store was not put back to a copy, they are lost',
      { stream: this.#stream.name, from, to },
    )
  }

  #schedulePoll(ms: number): void {
    clearTimeout(this.#pollTimer)
    if (this.#readers.size > 0) this.#pollTimer = setTimeout(() => void this.#pollStream(), ms)
  }

  /** Looks at the end of the stream repeatedly, and informs the readers. */
  async #pollStream(): Promise<void> {
    const requestedAt = performance.now()
    const known = this.#ends.lastSeq
    // An answer that was in flight when the connection broke never arrives.
    const removeListener = this.#stream.link.onNextChange(() => this.#schedulePoll(0))
    try {
      const state = await this.#stream.stateIfExists()
      this.#checkNotBehind(state?.lastSeq ?? STREAM_MISSING, known)
      if (state !== undefined) {
        this.#ends.noteStreamEnd(state.lastSeq, requestedAt)
        for (const reader of this.#readers) reader.onStreamState(state.firstSeq)
      }
    } catch {
      // The look failed. Readers notice by the time of the last successful one.
    }
    removeListener()
    this.#schedulePoll(LIMITS.logLookEveryMs)
  }
}

/** The end of a stream that NATS does not know because NATS came back empty. Only a start creates it again. */
const STREAM_MISSING = -1

function unavailable(error: unknown): unknown {
  const message = errorText(error)
  return new Fault('LOG_UNAVAILABLE', { retryable: true, message, cause: error })
}
