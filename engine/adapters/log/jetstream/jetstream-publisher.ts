// Publishes one message to the stream exactly once.
//
// - A publish without an answer may or may not be stored. It is repeated with the same `Nats-Msg-Id` until the
//   stream says which. Until then it is reported neither as stored nor as lost.
// B2. The stream remembers ids only for a while. After half that time the stream is searched for the message before
//     it is published again.
// - Ids are unique to this process. A message that it gives up when it ends was never acknowledged.
import { setTimeout as wait } from 'node:timers/promises'
import { JetStreamApiError } from '@nats-io/jetstream'
import { nuid } from '@nats-io/transport-node'
import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import type { LogStream } from './jetstream-stream.ts'

export interface PublishReceipt {
  readonly seq: number
  /** An earlier attempt stored it. */
  readonly isRepeat: boolean
}

type PublishOutcome =
  | ({ readonly kind: 'stored' } & PublishReceipt)
  | { readonly kind: 'refused'; readonly fault: Fault }
  | { readonly kind: 'unknown' }

/** Error codes of a server that has no room in the stream, in its store or in the account's quota. */
const STORE_FAILED = 10077
const FULL_CODES: readonly number[] = [10002, 10023, 10047, STORE_FAILED]

export class Publisher {
  readonly #stream: LogStream
  readonly #duplicateWindowMs: number
  readonly #writer = nuid.next()
  #count = 0
  #isClosed = false
  #interrupt = () => {}

  constructor(stream: LogStream, duplicateWindowMs: number) {
    this.#stream = stream
    this.#duplicateWindowMs = duplicateWindowMs
  }

  /** Resolves with the message's place. Rejects only if the message is not stored and never will be. `after` is a lower
   *  seq, from which a search starts. */
  async publish(body: Uint8Array, after: number): Promise<PublishReceipt> {
    if (!this.#stream.link.isConnected) throw unavailable('NATS is not connected')
    const id = `${this.#writer}.${++this.#count}`
    const since = performance.now()
    let isUnknown = false
    for (let attempt = 0; !this.#isClosed; attempt++) {
      const isLate = performance.now() - since > this.#duplicateWindowMs / 2
      const outcome: PublishOutcome =
        isUnknown && isLate ? await this.#findStored(id, body, after) : await this.#attempt(id, body)
      if (outcome.kind === 'stored') return outcome
      if (outcome.kind === 'refused' && !isUnknown) throw outcome.fault
      isUnknown ||= outcome.kind === 'unknown'
      await wait(Math.min(LIMITS.natsPublishRetryMs * 2 ** attempt, LIMITS.natsPublishRetryMsMax))
      await this.#untilConnected()
    }
    throw unavailable('shutting down')
  }

  close(): void {
    this.#isClosed = true
    this.#interrupt()
  }

  async #attempt(id: string, body: Uint8Array): Promise<PublishOutcome> {
    const { link, name, subject } = this.#stream
    const { interrupted, removeListener } = this.#interruption()
    const published = link.client
      .publish(subject, body, { msgID: id, expect: { streamName: name }, timeout: LIMITS.natsTimeoutMs })
      .then(({ seq, duplicate }): PublishOutcome => ({ kind: 'stored', seq, isRepeat: duplicate }), toOutcome)
    // An answer cannot arrive after its connection is lost.
    const answer = await Promise.race([
      published,
      interrupted.then((): PublishOutcome => ({ kind: 'unknown' })),
    ])
    removeListener()
    return answer
  }

  /** Searches the stream (B2). A message that is missing is published again. */
  async #findStored(id: string, body: Uint8Array, after: number): Promise<PublishOutcome> {
    try {
      const seq = await findMessage(this.#stream, id, after)
      return seq === undefined ? await this.#attempt(id, body) : { kind: 'stored', seq, isRepeat: true }
    } catch {
      // A failure to read the stream says nothing about the message.
      return { kind: 'unknown' }
    }
  }

  async #untilConnected(): Promise<void> {
    while (!this.#stream.link.isConnected && !this.#isClosed) await this.#interruption().interrupted
  }

  /** Resolves when the connection is lost or restored, or when this publisher closes. */
  #interruption(): { readonly interrupted: Promise<void>; readonly removeListener: () => void } {
    let removeListener = () => {}
    const interrupted = new Promise<void>((resolve) => {
      this.#interrupt = resolve
      removeListener = this.#stream.link.onNextChange(resolve)
    })
    return { interrupted, removeListener }
  }
}

async function findMessage(stream: LogStream, id: string, after: number): Promise<number | undefined> {
  const { lastSeq } = await stream.state()
  if (lastSeq <= after) return undefined
  const { consumers } = stream.link.client
  const consumer = await consumers.get(stream.name, {
    deliver_policy: 'by_start_sequence',
    opt_start_seq: after + 1,
    headers_only: true,
  })
  const messages = await consumer.consume({
    expires: LIMITS.natsTimeoutMs,
    idle_heartbeat: LIMITS.natsHeartbeatMs,
  })
  try {
    for await (const { seq, headers } of messages) {
      if (headers?.get('Nats-Msg-Id') === id) return seq
      if (seq >= lastSeq) return undefined
    }
    throw new Error('the stream could not be read to its end')
  } finally {
    messages.stop()
  }
}

function toOutcome(error: unknown): PublishOutcome {
  // No server accepted the message: the stream currently has no leader.
  if (error instanceof Error && error.name === 'JetStreamNotEnabled')
    return { kind: 'refused', fault: unavailable('the stream is not available') }
  if (!(error instanceof JetStreamApiError)) return { kind: 'unknown' }
  const isFull = FULL_CODES.includes(error.code)
  const code = isFull ? 'LOG_FULL' : 'LOG_UNAVAILABLE'
  const message = isFull ? `the log is full of unprocessed messages (${error.message})` : error.message
  return { kind: 'refused', fault: new Fault(code, { retryable: true, message, cause: error }) }
}

function unavailable(message: string): Fault {
  return new Fault('LOG_UNAVAILABLE', { retryable: true, message })
}
