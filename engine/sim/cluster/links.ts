// What lies between a simulated node and the rest of the world: a process that can stand still, and connections that can
// break while everybody else's hold.
import type { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'

/** The servers that a node reaches, each over a connection of its own. */
export const LINKS = ['log', 'store', 'telemetry', 'owners', 'mesh'] as const
export type Link = (typeof LINKS)[number]

/** A process that can stand still, as with SIGSTOP: no timer fires and no answer arrives until it goes on. */
export class Life {
  isOver = false
  #isPaused = false
  #waiting: (() => void)[] = []

  get isPaused(): boolean {
    return this.#isPaused
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    for (const run of this.#waiting.splice(0)) this.run(run)
  }

  end(): void {
    this.isOver = true
    this.#waiting = []
  }

  /** Runs it as soon as the process goes on. A dead process runs nothing. */
  run(what: () => void): void {
    if (this.isOver) return
    if (this.#isPaused) this.#waiting.push(what)
    else what()
  }

  awake(): Promise<void> {
    return new Promise((resolve) => this.run(resolve))
  }

  /** The outcome, once the process can take it. */
  async hold<T>(outcome: Promise<T>): Promise<T> {
    try {
      return await outcome
    } finally {
      await this.awake()
    }
  }

  schedule(inner: Schedule): Schedule {
    const after: Schedule['after'] = (ms, run) => {
      let isCancelled = false
      const stop = inner.after(ms, () => this.run(() => isCancelled || run()))
      return () => {
        isCancelled = true
        stop()
      }
    }
    return {
      after,
      sleep: (ms) => new Promise((resolve) => after(ms, resolve)),
      every: (ms, run) => inner.every(ms, () => this.run(run)),
    }
  }
}

/** The connections of one node. */
export class Links {
  readonly #cut = new Set<Link>()

  isCut(link: Link): boolean {
    return this.#cut.has(link)
  }

  cut(link: Link): void {
    this.#cut.add(link)
  }

  heal(): void {
    this.#cut.clear()
  }
}

export interface LinkState {
  readonly life: Life
  /** What a call is answered with while the connection is cut; undefined while it holds. */
  readonly broken: () => Fault | undefined
}

/** The port as a node reaches it: calls that return a promise fail while the connection is cut, before or after the work
 *  was done, and are answered only while the process runs. */
export function reached<Port extends object>(port: Port, { life, broken }: LinkState): Port {
  return new Proxy(port, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: readonly unknown[]) => {
        const fault = broken()
        if (fault !== undefined && PROMISED.has(String(name))) return life.hold(Promise.reject(fault))
        const result: unknown = value.apply(target, args)
        if (!(result instanceof Promise)) return result
        return life.hold(result.finally(() => mayBreak(broken)))
      }
    },
  })
}

/** An answer is lost if the connection breaks before it arrives. */
function mayBreak(broken: () => Fault | undefined): void {
  const fault = broken()
  if (fault !== undefined) throw fault
}

/** Methods that a broken connection refuses. The others answer from memory. */
const PROMISED: ReadonlySet<string> = new Set([
  ...['claim', 'save', 'checkpoint', 'clearLate', 'clearHistory', 'putFact', 'outbox', 'oldestHistory'],
  ...['insert', 'settle', 'resettle', 'history', 'series', 'points', 'audit', 'look', 'size', 'trim'],
  ...['read', 'renew', 'expel', 'release'],
])
