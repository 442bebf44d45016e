// EMQX's REST API, as far as the broker adapter needs it: ending sessions, shutting devices out, and what a session is
// subscribed to.
//
// A1. Whoever is to be cut off is, in the end: a call that fails is tried again, until it has or too many wait.
import { LIMITS } from '../../../limits.ts'

export interface EmqxApiOptions {
  /** `http://emqx:18083`, without `/api/v5`. */
  readonly url: string
  readonly key: string
  readonly secret: string
  readonly warn: (message: string, about: object) => void
}

export interface Subscribed {
  readonly topic: string
  readonly qos: 0 | 1 | 2
}

interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: object
  /** Answers that say that it is so, beside 2xx. */
  readonly fine: readonly number[]
}

interface Job extends Call {
  attempts: number
  readonly settle: (answer: unknown) => void
}

export class EmqxApi {
  readonly #options: EmqxApiOptions
  readonly #authorization: string
  readonly #waiting: Job[] = []
  readonly #retries = new Set<NodeJS.Timeout>()
  readonly #stop = new AbortController()
  #running = 0
  #isFailing = false
  #dropped = 0

  constructor(options: EmqxApiOptions) {
    this.#options = options
    this.#authorization = `Basic ${Buffer.from(`${options.key}:${options.secret}`).toString('base64')}`
  }

  get waiting(): number {
    return this.#waiting.length + this.#retries.size + this.#running
  }

  get dropped(): number {
    return this.#dropped
  }

  /** Ends its session, whether it is connected or not. */
  kick(clientId: string): Promise<unknown> {
    return this.#add({ method: 'DELETE', path: `clients/${clientId}`, fine: [404] })
  }

  /** For good: it is kicked, and refused from then on, whatever it shows. */
  ban(clientId: string, reason: string): Promise<unknown> {
    const body = { as: 'clientid', who: clientId, by: 'fleet', reason }
    // 400 is `ALREADY_EXISTS`.
    return this.#add({ method: 'POST', path: 'banned', body, fine: [400] })
  }

  /** Of the session as it is; nothing if there is none. */
  async subscriptions(clientId: string): Promise<readonly Subscribed[]> {
    const answer = await this.#add({ method: 'GET', path: `clients/${clientId}/subscriptions`, fine: [404] })
    if (!Array.isArray(answer)) return []
    return answer.flatMap((each: Partial<Subscribed>) =>
      typeof each.topic === 'string' && (each.qos === 0 || each.qos === 1 || each.qos === 2)
        ? [{ topic: each.topic, qos: each.qos }]
        : [],
    )
  }

  close(): void {
    this.#stop.abort()
    for (const retry of this.#retries) clearTimeout(retry)
    for (const { settle } of this.#waiting.splice(0)) settle(undefined)
  }

  #add(call: Call): Promise<unknown> {
    if (this.waiting >= LIMITS.emqxApiWaitingMax) {
      this.#dropped++
      this.#options.warn('too many calls wait for EMQX: one is given up', { path: call.path })
      return Promise.resolve(undefined)
    }
    return new Promise((settle) => {
      this.#waiting.push({ ...call, attempts: 0, settle })
      this.#next()
    })
  }

  #next(): void {
    while (this.#running < LIMITS.emqxApiAtOnceMax && !this.#stop.signal.aborted) {
      const job = this.#waiting.shift()
      if (job === undefined) return
      this.#running++
      void this.#run(job).finally(() => {
        this.#running--
        this.#next()
      })
    }
  }

  async #run(job: Job): Promise<void> {
    try {
      const answer = await this.#call(job)
      this.#isFailing = false
      job.settle(answer)
    } catch (error) {
      if (this.#stop.signal.aborted) return job.settle(undefined)
      if (!this.#isFailing)
        this.#options.warn('EMQX’s API does not do what it is asked', { err: error, path: job.path })
      this.#isFailing = true
      const delayMs = Math.min(LIMITS.mqttReconnectMs * 2 ** job.attempts++, LIMITS.mqttReconnectMsMax)
      const retry = setTimeout(() => {
        this.#retries.delete(retry)
        this.#waiting.push(job)
        this.#next()
      }, delayMs)
      this.#retries.add(retry)
    }
  }

  async #call({ method, path, body, fine }: Call): Promise<unknown> {
    const timeout = AbortSignal.timeout(LIMITS.emqxApiTimeoutMs)
    const response = await fetch(new URL(`/api/v5/${path}`, this.#options.url), {
      method,
      headers: { authorization: this.#authorization, 'content-type': 'application/json' },
      signal: AbortSignal.any([timeout, this.#stop.signal]),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (fine.includes(response.status)) return undefined
    if (!response.ok) throw new Error(`${method} ${path} is answered with ${response.status}`)
    return text === '' ? undefined : JSON.parse(text)
  }
}
