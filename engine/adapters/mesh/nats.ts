// Questions and news between nodes over NATS core: nothing is kept for whoever is not there.
//
// X1. An address is one node's alone, so a question has one taker at most, and NATS says at once when it has none.
// X2. What is under way when the connection goes is lost, and its asker is told so; nothing is sent a second time.
// X3. An answer comes in parts, each with its place. One with a hole is none.
import { deadline, type Msg, type Subscription } from '@nats-io/transport-node'
import { LIMITS } from '../../limits.ts'
import type { Fault } from '../../ports/fault.ts'
import type { Mesh } from '../../ports/mesh.ts'
import type { NatsLink } from '../nats/nats-link.ts'
import { Arriving, partsOf } from './answer-parts.ts'
import { absent, checkNews, faultOf, notReached, questionFault, Responder } from './responder.ts'

export interface NatsMeshOptions {
  /** Letters, digits, `-` and `_`; no other life of any process has it. */
  readonly address: string
  /** Of the subjects `<name>.node.…`, `<name>.answer.…` and `<name>.news.…`. */
  readonly name?: string
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void
}

interface Asking {
  readonly address: string
  readonly arriving: Arriving
  readonly timer: NodeJS.Timeout
  resolve(answer: Uint8Array): void
  reject(fault: Fault): void
}

const ADDRESS = /^[\w-]+$/
/** What NATS answers for nobody. */
const NO_RESPONDERS = 503
/** So much is told before the server is asked whether it has it. */
const FLUSH_BYTES = LIMITS.meshNewsWaitingBytesMax / 4

/** The link stays its owner's. */
export function openNatsMesh(link: NatsLink, options: NatsMeshOptions): Mesh {
  if (!ADDRESS.test(options.address)) throw new RangeError(`${options.address} cannot be a node's address`)
  return new NatsMesh(link, options)
}

class NatsMesh implements Mesh {
  readonly address: string
  readonly #link: NatsLink
  readonly #name: string
  readonly #warn: NatsMeshOptions['warn']
  readonly #responder: Responder
  readonly #asking = new Map<string, Asking>()
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
      warn('a question of another node could not be answered', { err }),
    )
    this.#inbox = `${name}.answer.${address}.`
    this.#subscribe(`${this.#inbox}*`, (message) => this.#take(message))
    this.#watch()
  }

  serve(answer: (question: Uint8Array) => Promise<Uint8Array>): void {
    this.#responder.open(answer)
    this.#subscribe(`${this.#name}.node.${this.address}`, ({ data, reply }) => {
      // Without it there is nobody to answer.
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
      this.#asking.set(id, { address, arriving: new Arriving(), timer, resolve, reject })
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
    if (isTooMuch && !this.#isDropping) this.#warn('NATS is too slow: news for other nodes are dropped', {})
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
    // What cannot be sent by now is lost, as it may be at any time.
    await deadline(this.#link.connection.flush(), LIMITS.meshStopTimeoutMs).catch(() => {})
  }

  /** By X2. */
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
    // One that came too late.
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

  /** False if it is not sent: without a connection it would wait for the next one. */
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
        else this.#warn('NATS does not let this node listen to another', { subject, err: error })
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
        // They went with their connection.
        this.#waitingBytes = 0
      }
    }
    this.#isFlushing = false
  }
}
