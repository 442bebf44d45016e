// Reads every message of the stream from a position on, in order and across failures of servers and connections, and
// hands out the entries of the wanted partitions.
//
// C1. The stream has no holes: message n is followed by n + 1, or by the oldest message that is left. Anything else
//     means that the consumer is wrong, and a new one is created at the reader's position.
// - A reader has caught up when it has read everything that a recent look at the stream found. After a pause of the
//   process it is not caught up before the next look.
// C3. A partition without entries gets an empty entry from time to time, so that its position does not stay behind.
import { setTimeout as wait } from 'node:timers/promises'
import { DeliverPolicy } from '@nats-io/jetstream'
import type { Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { Entry, LogReader, Positions } from '../../../ports/log.ts'
import type { LogStream } from './jetstream-stream.ts'
import { splitBundles } from './joined-bundles.ts'
import type { PartitionEnds } from './partition-ends.ts'

export interface ReaderPorts {
  readonly stream: LogStream
  readonly ends: PartitionEnds
  readonly partitions: readonly Partition[]
  readonly from: Positions
  /** The stream has lost these messages, which the reader was to read. */
  readonly onMissing: (from: number, to: number) => void
  readonly onClose: (reader: JetStreamReader) => void
}

type Messages = AsyncIterable<{ readonly seq: number; readonly data: Uint8Array }> & { stop(): void }

export class JetStreamReader implements LogReader {
  readonly #ports: ReaderPorts
  readonly #wanted: readonly boolean[]
  /** Seq of the last entry of each partition that was buffered or handed out. */
  readonly #lastSeqs: number[]
  /** Seq of the last message that was read. */
  #position: number
  #buffer: Entry[] = []
  #bufferBytes = 0
  /** Time at which the consumer last delivered a message or a heartbeat. */
  #deliveredAt = performance.now()
  #messages: Messages | undefined
  #wakePull: (() => void) | undefined
  #resumeConsumer: (() => void) | undefined
  #isClosed = false

  constructor(ports: ReaderPorts) {
    this.#ports = ports
    const { partitions, from } = ports
    const wanted: boolean[] = []
    for (const p of partitions) wanted[p] = true
    this.#wanted = wanted
    this.#lastSeqs = [...from]
    this.#position = Math.min(...partitions.map((p) => from[p] ?? 0))
    void this.#run()
  }

  get position(): number {
    return this.#position
  }

  async pull(bytesMax: number): Promise<readonly Entry[] | undefined> {
    const wasCaughtUp = this.isCaughtUp()
    while (!this.#isClosed) {
      const entries = this.#collect(bytesMax)
      if (entries.length > 0) return entries
      if (!wasCaughtUp && this.isCaughtUp()) return []
      await new Promise<void>((resolve) => {
        this.#wakePull = resolve
      })
    }
    return undefined
  }

  isCaughtUp(): boolean {
    const { ends, partitions } = this.#ports
    if (this.#buffer.length > 0 || !ends.isTrusted() || this.#position < ends.lastSeq) return false
    return partitions.every((p) => (this.#lastSeqs[p] ?? 0) >= ends.of(p))
  }

  /** Called after a look at the stream. Trimmed messages were settled everywhere, so reading goes on with the oldest. The
   *  position of a partition without entries stays behind by some (C3); more than that was not settled here. */
  onStreamState(firstSeq: number): void {
    if (firstSeq - 1 - this.#position > 2 * LIMITS.logMarkEvery)
      this.#ports.onMissing(this.#position + 1, firstSeq - 1)
    this.#position = Math.max(this.#position, firstSeq - 1)
    this.#wake()
    const isIdle = this.#resumeConsumer !== undefined || this.#position >= this.#ports.ends.lastSeq
    if (isIdle) this.#deliveredAt = performance.now()
    // The client would retry too, but only after half a minute.
    else if (performance.now() - this.#deliveredAt > 2 * LIMITS.natsHeartbeatMs) this.#messages?.stop()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#buffer = []
    this.#messages?.stop()
    this.#signalSpace()
    this.#wake()
    this.#ports.onClose(this)
  }

  #wake(): void {
    this.#wakePull?.()
    this.#wakePull = undefined
  }

  #collect(bytesMax: number): readonly Entry[] {
    let bytes = 0
    let count = 0
    for (const { body } of this.#buffer) {
      bytes += body.length
      if (bytes > bytesMax && count > 0) break
      count++
    }
    if (count === 0) return this.#emptyEntries()
    const entries = this.#buffer.splice(0, count)
    for (const { body } of entries) this.#bufferBytes -= body.length
    if (this.#bufferBytes <= LIMITS.natsReaderBytesMax) this.#signalSpace()
    return entries
  }

  /** Hands out empty entries (C3) if there is nothing else. */
  #emptyEntries(): readonly Entry[] {
    const { ends, partitions } = this.#ports
    const empty: Entry[] = []
    for (const partition of partitions) {
      const lastSeq = this.#lastSeqs[partition] ?? 0
      if (this.#position - lastSeq >= LIMITS.logMarkEvery) ends.raise(partition, this.#position)
      const seq = ends.of(partition)
      if (seq <= lastSeq || seq > this.#position) continue
      this.#lastSeqs[partition] = seq
      empty.push({ partition, seq, body: new Uint8Array(0) })
    }
    return empty
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#consume()
      } catch {
        // Appends and looks report the cause: no connection, no leader or no stream. The position is kept.
      }
      if (!this.#isClosed) await wait(LIMITS.natsReadRetryMs, undefined, { ref: false })
    }
  }

  /** Returns when a new consumer is needed (C1). */
  async #consume(): Promise<void> {
    const { stream } = this.#ports
    const consumer = await stream.link.client.consumers.get(stream.name, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: this.#position + 1,
    })
    const messages = await consumer.consume({
      max_messages: LIMITS.natsReaderMessagesMax,
      idle_heartbeat: LIMITS.natsHeartbeatMs,
    })
    this.#messages = messages
    this.#deliveredAt = performance.now()
    try {
      if (this.#isClosed) return
      for await (const { seq, data } of messages) {
        if (this.#isClosed || !(await this.#bufferMessage(seq, data))) return
        if (this.#bufferBytes > LIMITS.natsReaderBytesMax) await this.#untilSpace()
      }
    } finally {
      messages.stop()
    }
  }

  /** False if there is a hole before the message. */
  async #bufferMessage(seq: number, data: Uint8Array): Promise<boolean> {
    const { stream, ends } = this.#ports
    if (seq <= this.#position) return true
    if (seq > this.#position + 1 && seq > (await stream.state()).firstSeq) return false
    const bundles = splitBundles(data)
    ends.noteMessage(
      seq,
      bundles.map(({ partition }) => partition),
    )
    for (const { partition, body } of bundles) {
      if (this.#wanted[partition] !== true || seq <= (this.#lastSeqs[partition] ?? 0)) continue
      this.#lastSeqs[partition] = seq
      this.#buffer.push({ partition, seq, body })
      this.#bufferBytes += body.length
    }
    this.#position = seq
    this.#deliveredAt = performance.now()
    this.#wake()
    return true
  }

  #untilSpace(): Promise<void> {
    return new Promise((resolve) => {
      this.#resumeConsumer = resolve
    })
  }

  #signalSpace(): void {
    this.#resumeConsumer?.()
    this.#resumeConsumer = undefined
  }
}
