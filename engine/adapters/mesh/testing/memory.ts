// For tests and simulations: nodes in one process. Those that share a `MemoryNet` reach each other.
import type { Mesh } from '../../../ports/mesh.ts'
import type { Schedule } from '../../../ports/schedule.ts'
import {
  absentFault,
  checkMessage,
  faultOf,
  type Outcome,
  questionFault,
  Responder,
  unreachableFault,
} from '../responder.ts'

type Listener = (message: Uint8Array) => void

const REAL_TIME: Pick<Schedule, 'after'> = {
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

export class MemoryNet {
  readonly nodes = new Map<string, MemoryMesh>()
}

export class MemoryMesh implements Mesh {
  readonly address: string
  /** Makes this node neither send nor receive while set. */
  isCut = false
  readonly #net: MemoryNet
  readonly #schedule: Pick<Schedule, 'after'>
  readonly #responder = new Responder()
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #asking = new Set<() => void>()
  #isServing = false

  /** `schedule`: the time in which answers are waited for; left out, real time. */
  constructor(net: MemoryNet, address: string, schedule: Pick<Schedule, 'after'> = REAL_TIME) {
    this.#net = net
    this.#schedule = schedule
    this.address = address
    net.nodes.set(address, this)
  }

  serve(answer: (question: Uint8Array) => Promise<Uint8Array>): void {
    this.#responder.serve(answer)
    this.#isServing = true
  }

  async ask(address: string, question: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    const fault = questionFault(question)
    if (fault !== undefined) throw fault
    const asked = this.#net.nodes.get(address)
    if (this.isCut) throw unreachableFault(address, 'cannot be reached: this node is cut off')
    if (asked === undefined || !asked.#isServing) throw absentFault(address)
    const outcome = await this.#outcomeOf(asked, question.slice(), timeoutMs)
    if (outcome === undefined) throw unreachableFault(address, 'did not answer in time')
    if (outcome.kind !== 'answered') throw faultOf(address, outcome)
    return outcome.answer.slice()
  }

  publish(topic: string, message: Uint8Array): void {
    checkMessage(message)
    if (this.isCut) return
    const copy = message.slice()
    queueMicrotask(() => {
      for (const node of this.#net.nodes.values()) if (!node.isCut) node.#hearNow(topic, copy)
    })
  }

  subscribe(topic: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners)
    // The same function may be registered twice.
    const own: Listener = (message) => listener(message)
    listeners.add(own)
    return () => listeners.delete(own)
  }

  isUp(): boolean {
    return !this.isCut
  }

  async close(): Promise<void> {
    for (const giveUp of this.#asking) giveUp()
    await this.#responder.close()
    this.#net.nodes.delete(this.address)
  }

  /** Undefined if no answer arrives in time. As over a network, nothing happens synchronously. */
  async #outcomeOf(asked: MemoryMesh, question: Uint8Array, timeoutMs: number): Promise<Outcome | undefined> {
    let settle = (_: Outcome | undefined) => {}
    const outcome = new Promise<Outcome | undefined>((resolve) => {
      settle = resolve
    })
    const giveUp = () => settle(undefined)
    const stopTimer = this.#schedule.after(timeoutMs, giveUp)
    this.#asking.add(giveUp)
    queueMicrotask(() => {
      if (asked.isCut) return
      asked.#responder.handle(question, (answered) => {
        if (!this.isCut && !asked.isCut) settle(answered)
      })
    })
    try {
      return await outcome
    } finally {
      stopTimer()
      this.#asking.delete(giveUp)
    }
  }

  #hearNow(topic: string, message: Uint8Array): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener(message)
  }
}
