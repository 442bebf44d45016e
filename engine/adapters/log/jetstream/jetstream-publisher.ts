// One message into the stream, exactly once.
//
// B1. A publish without an answer may be stored or not. It is repeated under the same `Nats-Msg-Id` until the stream
//     says which, and nothing else is said about it meanwhile: neither that it is there nor that it is not.
// B2. The stream remembers ids for a while only. After half of that it is looked through for the message first.
// B3. Ids are of this life of the process: a message given up at its end was acknowledged to nobody.
import { setTimeout as wait } from 'node:timers/promises'
import { JetStreamApiError } from '@nats-io/jetstream'
import { nuid } from '@nats-io/transport-node'
import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import type { LogStream } from './jetstream-stream.ts'

type Answer =
  | { readonly kind: 'stored'; readonly seq: number }
  | { readonly kind: 'refused'; readonly fault: Fault }
  | { readonly kind: 'unknown' }

/** What the server says without room in the stream, in its store, or in what the account may use. */
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

  /** Resolves with its seq. Rejects only when nothing of it is there, nor will be. `after` is a seq before it. */
  async publish(body: Uint8Array, after: number): Promise<number> {
    if (!this.#stream.link.isConnected) throw unavailable('NATS is not connected')
    const id = `${this.#writer}.${++this.#count}`
    const since = performance.now()
    let isUnknown = false
    for (let attempt = 0; !this.#isClosed; attempt++) {
      const isLate = performance.now() - since > this.#duplicateWindowMs / 2
      const answer: Answer =
        isUnknown && isLate ? await this.#find(id, body, after) : await this.#attempt(id, body)
      if (answer.kind === 'stored') return answer.seq
      if (answer.kind === 'refused' && !isUnknown) throw answer.fault
      isUnknown ||= answer.kind === 'unknown'
      await wait(Math.min(LIMITS.natsPublishRetryMs * 2 ** attempt, LIMITS.natsPublishRetryMsMax))
      await this.#connected()
    }
    throw unavailable('shutting down')
  }

  close(): void {
    this.#isClosed = true
    this.#interrupt()
  }

  async #attempt(id: string, body: Uint8Array): Promise<Answer> {
    const { link, name, subject } = this.#stream
    const { interrupted, forget } = this.#interruption()
    const published = link.client
      .publish(subject, body, { msgID: id, expect: { streamName: name }, timeout: LIMITS.natsTimeoutMs })
      .then(({ seq }): Answer => ({ kind: 'stored', seq }), toAnswer)
    // Without its connection an answer cannot come any more.
    const answer = await Promise.race([published, interrupted.then((): Answer => ({ kind: 'unknown' }))])
    forget()
    return answer
  }

  /** By B2. What is not there by now is published again. */
  async #find(id: string, body: Uint8Array, after: number): Promise<Answer> {
    try {
      const seq = await findMessage(this.#stream, id, after)
      return seq === undefined ? await this.#attempt(id, body) : { kind: 'stored', seq }
    } catch {
      // The stream could not be read: that says nothing of the message.
      return { kind: 'unknown' }
    }
  }

  async #connected(): Promise<void> {
    while (!this.#stream.link.isConnected && !this.#isClosed) await this.#interruption().interrupted
  }

  /** Resolves when the connection comes or goes, or at the end. */
  #interruption(): { readonly interrupted: Promise<void>; readonly forget: () => void } {
    let forget = () => {}
    const interrupted = new Promise<void>((resolve) => {
      this.#interrupt = resolve
      forget = this.#stream.link.onChange(resolve)
    })
    return { interrupted, forget }
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
    throw new Error('the stream was not read to its end')
  } finally {
    messages.stop()
  }
}

function toAnswer(error: unknown): Answer {
  // Nobody took it: the stream has no leader just now.
  if (error instanceof Error && error.name === 'JetStreamNotEnabled')
    return { kind: 'refused', fault: unavailable('the stream is not available') }
  if (!(error instanceof JetStreamApiError)) return { kind: 'unknown' }
  const isFull = FULL_CODES.includes(error.code)
  const code = isFull ? 'LOG_FULL' : 'LOG_UNAVAILABLE'
  const message = isFull ? `the log is full of messages not yet processed (${error.message})` : error.message
  return { kind: 'refused', fault: new Fault(code, { retryable: true, message, cause: error }) }
}

function unavailable(message: string): Fault {
  return new Fault('LOG_UNAVAILABLE', { retryable: true, message })
}
