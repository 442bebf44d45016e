// The stream has one message per append, so that an append is atomic, costs one fsync and can be repeated as one. The
// stream's sequence is the position in every partition.

import { setTimeout as wait } from 'node:timers/promises'
import { JetStreamApiCodes, JetStreamApiError, type StreamConfig } from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { errorText } from '../../../../schemas/error-text.ts'
import { Micros } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import type { NatsLink } from '../../nats/nats-link.ts'
import { latestAtOf } from './joined-bundles.ts'

export interface StreamOptions {
  readonly bytesMax: number
  readonly replicas: number
  readonly duplicateWindowMs: number
  /** Seqs up to this one are in use. */
  readonly notBefore: number
}

export interface StreamState {
  readonly firstSeq: number
  readonly lastSeq: number
  readonly bytes: number
}

const NAME_IN_USE = 10058
/** Error codes of a cluster that has no peers to place a stream on yet, or no leader to decide it. */
const STARTING_CODES: readonly number[] = [10005, 10008]

export class LogStream {
  readonly link: NatsLink
  readonly name: string
  readonly subject: string

  /** The stream is `<name>-log` and its subject `<name>.log`. */
  constructor(link: NatsLink, name: string) {
    this.link = link
    this.name = `${name}-log`
    this.subject = `${name}.log`
  }

  /** Creates the stream, or updates it to these options. */
  async open(options: StreamOptions): Promise<StreamState> {
    const { streams } = this.link.manager
    const config = this.#config(options)
    try {
      await retryWhileStarting(() => streams.add({ ...config, first_seq: options.notBefore + 1 }))
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== NAME_IN_USE) throw this.#openFault(error)
      await streams.update(this.name, config).catch((failure: unknown) => {
        throw this.#openFault(failure)
      })
    }
    const state = await this.state().catch((failure: unknown) => {
      throw this.#openFault(failure)
    })
    if (state.lastSeq < options.notBefore)
      throw new Fault('LOG_UNAVAILABLE', {
        retryable: false,
        message: `the stream ${this.name} is older than the store (it has ${state.lastSeq} of ${options.notBefore} messages); restore it, or delete it and lose its unprocessed messages`,
      })
    return state
  }

  async state(): Promise<StreamState> {
    const { state } = await this.link.manager.streams.info(this.name)
    return { firstSeq: state.first_seq, lastSeq: state.last_seq, bytes: state.bytes }
  }

  /** Undefined if NATS knows of no such stream. */
  async stateIfExists(): Promise<StreamState | undefined> {
    try {
      return await this.state()
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound)
        return undefined
      throw error
    }
  }

  /** The newest receive time up to this message. Undefined if the message is missing. */
  async latestAt(seq: number): Promise<Micros | undefined> {
    const message = await this.link.manager.direct.getMessage(this.name, { seq })
    return message === null ? undefined : latestAtOf(message.data)
  }

  async removeBefore(seq: number): Promise<void> {
    await this.link.manager.streams.purge(this.name, { seq })
  }

  #config({ bytesMax, replicas, duplicateWindowMs }: StreamOptions) {
    return {
      name: this.name,
      subjects: [this.subject],
      storage: 'file',
      retention: 'limits',
      // A full stream refuses new messages: the oldest ones are not processed yet.
      discard: 'new',
      max_bytes: bytesMax,
      // Messages never expire: `trim` removes those that are settled.
      max_age: 0,
      max_msgs: -1,
      num_replicas: replicas,
      duplicate_window: nanos(duplicateWindowMs),
      allow_direct: true,
      deny_delete: true,
    } satisfies Partial<StreamConfig> & { readonly name: string }
  }

  #openFault(error: unknown): Fault {
    const why = errorText(error)
    return new Fault('LOG_UNAVAILABLE', {
      // There was no answer, or the server is still starting.
      retryable: !(error instanceof JetStreamApiError) || isStarting(error),
      message: `the stream ${this.name} cannot be opened: ${why}`,
      cause: error,
    })
  }
}

/** An empty stream has no messages. */
export async function newestReceiveTime(
  stream: LogStream,
  { firstSeq, lastSeq }: StreamState,
): Promise<Micros> {
  if (lastSeq < firstSeq) return Micros(0)
  return (await stream.latestAt(lastSeq)) ?? Micros(0)
}

/** Starting servers find each other only some seconds after they begin to answer. */
async function retryWhileStarting<T>(work: () => Promise<T>): Promise<T> {
  const until = performance.now() + LIMITS.natsStartTimeoutMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isStarting(error) || performance.now() > until) throw error
      await wait(LIMITS.natsStartRetryMs)
    }
  }
}

function isStarting(error: unknown): boolean {
  return error instanceof JetStreamApiError && STARTING_CODES.includes(error.code)
}
