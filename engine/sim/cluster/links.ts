// Lets the process of a simulated node pause, and cuts single connections of the node while those of others hold.
import type { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'

/** The servers to which a node has connections. */
export const LINKS = ['log', 'store', 'telemetry', 'owners', 'mesh'] as const
export type Link = (typeof LINKS)[number]

/** A process that can be paused, as with SIGSTOP. Until it is resumed, no timer fires and no answer arrives. */
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

  /** Runs `what` now, or when the paused process is resumed. A dead process runs nothing. */
  run(what: () => void): void {
    if (this.isOver) return
    if (this.#isPaused) this.#waiting.push(what)
    else what()
  }

  awake(): Promise<void> {
    return new Promise((resolve) => this.run(resolve))
  }

  /** Resolves with the outcome once the process is not paused. */
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

export interface LinkState {
  readonly life: Life
  /** Returns the fault of a call while the connection is cut, and undefined while it holds. */
  readonly broken: () => Fault | undefined
}

/** Returns the port as a node reaches it. While the connection is cut, calls to the server fail, either before or after the
 *  work is done. Answers arrive only while the process is not paused. */
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

/** Throws if the connection was cut before the answer arrived. */
function mayBreak(broken: () => Fault | undefined): void {
  const fault = broken()
  if (fault !== undefined) throw fault
}

/** Methods that need the connection. The others answer from memory. */
const PROMISED: ReadonlySet<string> = new Set([
  ...['claim', 'save', 'checkpoint', 'clearLate', 'clearHistory', 'putFact', 'outbox', 'oldestHistory'],
  ...['insert', 'settle', 'resettle', 'history', 'series', 'points', 'audit', 'look', 'size', 'trim'],
  ...['read', 'renew', 'expel', 'release'],
])
