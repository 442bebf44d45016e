// Questions and news between nodes over NATS core. Nothing is stored for a node that is not connected.
//
// - An address belongs to one node, so a question reaches at most one, and NATS reports at once if there is none.
// X2. Questions in flight are lost with the connection. Their askers are told, and nothing is sent twice.
// - An answer arrives in parts, each with its position. An answer with a missing part is discarded.
import { deadline, type Msg, type Subscription } from '@nats-io/transport-node'
import { LIMITS } from '../../limits.ts'
import type { Fault } from '../../ports/fault.ts'
import type { Mesh } from '../../ports/mesh.ts'
import type { NatsLink } from '../nats/nats-link.ts'
import { PartialAnswer, partsOf } from './answer-parts.ts'
import { absent, checkNews, faultOf, notReached, questionFault, Responder } from './responder.ts'

export interface NatsMeshOptions {
  /** Letters, digits, `-` and `_`. It must be unique among all processes, including earlier runs. */
  readonly address: string
  /** Prefix of the subjects `<name>.node.…`, `<name>.answer.…` and `<name>.news.…`. */
  readonly name?: string
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void
}

interface OpenQuestion {
  readonly address: string
  readonly arriving: PartialAnswer
  readonly timer: NodeJS.Timeout
  resolve(answer: Uint8Array): void
  reject(fault: Fault): void
}

const ADDRESS = /^[\w-]+$/
/** Status with which NATS answers a request that has no responders. */
const NO_RESPONDERS = 503
/** Bytes of news that are sent before the server is asked whether it has received them. */
const FLUSH_BYTES = LIMITS.meshNewsWaitingBytesMax / 4

/** The caller closes the link. */
export function openNatsMesh(link: NatsLink, options: NatsMeshOptions): Mesh {
  if (!ADDRESS.test(options.address))
    throw new RangeError(`${options.address} is not a valid node address; use letters, digits, - and _`)
  return new NatsMesh(link, options)
}

class NatsMesh implements Mesh {
  readonly address: string
  readonly #link: NatsLink
  readonly #name: string
  readonly #warn: NatsMeshOptions['warn']
  readonly #responder: Responder
  readonly #asking = new Map<string, OpenQuestion>()
  readonly #subscriptions = new Set<Subscription>()
  readonly #inbox: string
  #asked = 0
  #waitingBytes = 0
  #isFlushing = false
  #isDropping = false
  #isClosed = false
  #unwatch = () => {}

  constructor(link: NatsLink, { address, name = 'fleet', warn }: NatsMeshOptions) {
    this.address = address
    this.#link = link
    this.#name = name
    this.#warn = warn
    this.#responder = new Responder((err) =>
      warn('a question of another node could not be answered; this is a bug in Fleet', { err }),
    )
    this.#inbox = `${name}.answer.${address}.`
    this.#subscribe(`${this.#inbox}*`, (message) => this.#take(message))
    this.#watch()
  }

  serve(answer: (question: Uint8Array) => Promise<Uint8Array>): void {
    this.#responder.open(answer)
    this.#subscribe(`${this.#name}.node.${this.address}`, ({ data, reply }) => {
      // Without a reply subject there is nobody to answer.
      if (reply === undefined) return
      this.#responder.take(data, (outcome) => {
        for (const part of partsOf(outcome)) this.#publish(reply, part)
      })
    })
  }

  ask(address: string, question: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    const fault = questionFault(question)
    if (fault !== undefined) return Promise.reject(fault)
    const id = (++this.#asked).toString(36)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#fail(id, 'did not answer in time'), timeoutMs)
      this.#asking.set(id, { address, arriving: new PartialAnswer(), timer, resolve, reject })
      const isSent =
        ADDRESS.test(address) &&
        !this.#isClosed &&
        this.#publish(`${this.#name}.node.${address}`, question, this.#inbox + id)
      if (!isSent) this.#fail(id, 'cannot be reached over NATS')
    })
  }

  tell(topic: string, news: Uint8Array): void {
    checkNews(news)
    const isTooMuch = this.#waitingBytes + news.length > LIMITS.meshNewsWaitingBytesMax
    if (isTooMuch && !this.#isDropping)
      this.#warn(
        'NATS is too slow, so live updates for other nodes are dropped; their clients will resync',
        {},
      )
    this.#isDropping = isTooMuch
    if (isTooMuch || this.#isClosed || !this.#publish(`${this.#name}.news.${topic}`, news)) return
    this.#waitingBytes += news.length
    if (this.#waitingBytes > FLUSH_BYTES && !this.#isFlushing) void this.#flush()
  }

  hear(topic: string, listener: (news: Uint8Array) => void): () => void {
    return this.#subscribe(`${this.#name}.news.${topic}`, ({ data }) => listener(data))
  }

  isUp(): boolean {
    return this.#link.isConnected
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#unwatch()
    for (const id of this.#asking.keys()) this.#fail(id, 'was asked by a node that closes')
    await this.#responder.close()
    for (const subscription of this.#subscriptions) subscription.unsubscribe()
    if (!this.#link.isConnected) return
    // News that has not been sent by now is lost, which the port allows at any time.
    await deadline(this.#link.connection.flush(), LIMITS.meshStopTimeoutMs).catch(() => {})
  }

  /** Fails the questions in flight when the connection is lost (X2). */
  #watch(): void {
    this.#unwatch = this.#link.onChange(() => {
      if (!this.#link.isConnected)
        for (const id of this.#asking.keys())
          this.#fail(id, 'cannot be reached: the connection to NATS was lost')
      this.#watch()
    })
  }

  #take({ subject, data, headers }: Msg): void {
    const id = subject.slice(this.#inbox.length)
    const asking = this.#asking.get(id)
    // The answer came too late.
    if (asking === undefined) return
    const isNobody = data.length === 0 && headers?.code === NO_RESPONDERS
    const outcome = isNobody ? 'nobody' : asking.arriving.add(data)
    if (outcome === 'nobody') {
      this.#end(id)
      asking.reject(absent(asking.address))
    } else if (outcome === 'torn') this.#fail(id, 'answered, but not all of it arrived')
    else if (outcome !== undefined) {
      this.#end(id)
      if (outcome.kind === 'answered') asking.resolve(outcome.answer)
      else asking.reject(faultOf(asking.address, outcome))
    }
  }

  #fail(id: string, why: string): void {
    const asking = this.#asking.get(id)
    this.#end(id)
    asking?.reject(notReached(asking.address, why))
  }

  #end(id: string): void {
    clearTimeout(this.#asking.get(id)?.timer)
    this.#asking.delete(id)
  }

  /** Returns false without a connection, since the message would otherwise wait for the next one. */
  #publish(subject: string, data: Uint8Array, reply?: string): boolean {
    const { connection, isConnected } = this.#link
    const { max_payload = 0 } = connection.info ?? {}
    if (!isConnected || connection.isClosed() || data.length > max_payload) return false
    connection.publish(subject, data, reply === undefined ? {} : { reply })
    return true
  }

  #subscribe(subject: string, hear: (message: Msg) => void): () => void {
    const subscription = this.#link.connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) hear(message)
        else
          this.#warn(
            'NATS refused a subscription, so this node cannot hear others; check the permissions of its account',
            { subject, err: error },
          )
      },
    })
    this.#subscriptions.add(subscription)
    return () => {
      subscription.unsubscribe()
      this.#subscriptions.delete(subscription)
    }
  }

  async #flush(): Promise<void> {
    this.#isFlushing = true
    while (this.#waitingBytes > FLUSH_BYTES) {
      const bytes = this.#waitingBytes
      try {
        await this.#link.connection.flush()
        this.#waitingBytes -= bytes
      } catch {
        // The subscriptions ended with their connection.
        this.#waitingBytes = 0
      }
    }
    this.#isFlushing = false
  }
}
