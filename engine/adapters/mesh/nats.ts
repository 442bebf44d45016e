// Questions and messages between nodes over NATS core. Nothing is stored for a node that is not connected.
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
import {
  absentFault,
  checkMessage,
  faultOf,
  questionFault,
  Responder,
  unreachableFault,
} from './responder.ts'

export interface NatsMeshOptions {
  /** Letters, digits, `-` and `_`. It must be unique among all processes, including earlier runs. */
  readonly address: string
  /** Prefix of the subjects `<name>.node.…`, `<name>.answer.…` and `<name>.news.…`. */
  readonly name?: string
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void
}

interface OpenQuestion {
  readonly address: string
  readonly parts: PartialAnswer
  readonly timer: NodeJS.Timeout
  resolve(answer: Uint8Array): void
  reject(fault: Fault): void
}

const ADDRESS = /^[\w-]+$/
/** Status with which NATS answers a request that has no responders. */
const NO_RESPONDERS = 503
/** Published bytes after which the server is asked whether it has received them. */
const FLUSH_BYTES = LIMITS.meshWaitingBytesMax / 4

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
  readonly #openQuestions = new Map<string, OpenQuestion>()
  readonly #subscriptions = new Set<Subscription>()
  readonly #inbox: string
  #questionCount = 0
  #waitingBytes = 0
  #isFlushing = false
  #isDropping = false
  #isClosed = false
  #stopWatching = () => {}

  constructor(link: NatsLink, { address, name = 'fleet', warn }: NatsMeshOptions) {
    this.address = address
    this.#link = link
    this.#name = name
    this.#warn = warn
    this.#responder = new Responder((err) =>
      warn('a question of another node could not be answered; this is a bug in Fleet', { err }),
    )
    this.#inbox = `${name}.answer.${address}.`
    this.#subscribe(`${this.#inbox}*`, (message) => this.#receiveAnswer(message))
    this.#watch()
  }

  serve(answer: (question: Uint8Array) => Promise<Uint8Array>): void {
    this.#responder.serve(answer)
    this.#subscribe(`${this.#name}.node.${this.address}`, ({ data, reply }) => {
      // Without a reply subject there is nobody to answer.
      if (reply === undefined) return
      this.#responder.handle(data, (outcome) => {
        for (const part of partsOf(outcome)) this.#publish(reply, part)
      })
    })
  }

  ask(address: string, question: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    const fault = questionFault(question)
    if (fault !== undefined) return Promise.reject(fault)
    const id = (++this.#questionCount).toString(36)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#failQuestion(id, 'did not answer in time'), timeoutMs)
      this.#openQuestions.set(id, { address, parts: new PartialAnswer(), timer, resolve, reject })
      const isSent =
        ADDRESS.test(address) &&
        !this.#isClosed &&
        this.#publish(`${this.#name}.node.${address}`, question, this.#inbox + id)
      if (!isSent) this.#failQuestion(id, 'cannot be reached over NATS')
    })
  }

  publish(topic: string, message: Uint8Array): void {
    checkMessage(message)
    const isTooMuch = this.#waitingBytes + message.length > LIMITS.meshWaitingBytesMax
    if (isTooMuch && !this.#isDropping)
      this.#warn(
        'NATS is too slow, so live updates for other nodes are dropped; their clients will resync',
        {},
      )
    this.#isDropping = isTooMuch
    if (isTooMuch || this.#isClosed || !this.#publish(`${this.#name}.news.${topic}`, message)) return
    this.#waitingBytes += message.length
    if (this.#waitingBytes > FLUSH_BYTES && !this.#isFlushing) void this.#flush()
  }

  subscribe(topic: string, listener: (message: Uint8Array) => void): () => void {
    return this.#subscribe(`${this.#name}.news.${topic}`, ({ data }) => listener(data))
  }

  isUp(): boolean {
    return this.#link.isConnected
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopWatching()
    for (const id of this.#openQuestions.keys()) this.#failQuestion(id, 'was asked by a node that closes')
    await this.#responder.close()
    for (const subscription of this.#subscriptions) subscription.unsubscribe()
    if (!this.#link.isConnected) return
    // A message that has not been sent by now is lost, which the port allows at any time.
    await deadline(this.#link.connection.flush(), LIMITS.meshStopTimeoutMs).catch(() => {})
  }

  /** Fails the questions in flight when the connection is lost (X2). */
  #watch(): void {
    this.#stopWatching = this.#link.onNextChange(() => {
      if (!this.#link.isConnected)
        for (const id of this.#openQuestions.keys())
          this.#failQuestion(id, 'cannot be reached: the connection to NATS was lost')
      this.#watch()
    })
  }

  #receiveAnswer({ subject, data, headers }: Msg): void {
    const id = subject.slice(this.#inbox.length)
    const question = this.#openQuestions.get(id)
    // The answer came too late.
    if (question === undefined) return
    const isNobody = data.length === 0 && headers?.code === NO_RESPONDERS
    const outcome = isNobody ? 'nobody' : question.parts.add(data)
    if (outcome === 'nobody') {
      this.#closeQuestion(id)
      question.reject(absentFault(question.address))
    } else if (outcome === 'torn') this.#failQuestion(id, 'answered, but not all of it arrived')
    else if (outcome !== undefined) {
      this.#closeQuestion(id)
      if (outcome.kind === 'answered') question.resolve(outcome.answer)
      else question.reject(faultOf(question.address, outcome))
    }
  }

  #failQuestion(id: string, reason: string): void {
    const question = this.#openQuestions.get(id)
    this.#closeQuestion(id)
    question?.reject(unreachableFault(question.address, reason))
  }

  #closeQuestion(id: string): void {
    clearTimeout(this.#openQuestions.get(id)?.timer)
    this.#openQuestions.delete(id)
  }

  /** Returns false without a connection, since the message would otherwise wait for the next one. */
  #publish(subject: string, data: Uint8Array, reply?: string): boolean {
    const { connection, isConnected } = this.#link
    const { max_payload = 0 } = connection.info ?? {}
    if (!isConnected || connection.isClosed() || data.length > max_payload) return false
    connection.publish(subject, data, reply === undefined ? {} : { reply })
    return true
  }

  #subscribe(subject: string, listener: (message: Msg) => void): () => void {
    const subscription = this.#link.connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) listener(message)
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
