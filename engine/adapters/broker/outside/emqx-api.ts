// EMQX's REST API, as far as the broker adapter needs it: it ends sessions, bans devices and reads subscriptions.
//
// A failed call is retried until it succeeds, so that a device is cut off eventually. Calls are dropped only if too
// many wait.
import { type DeviceId, parseDeviceId } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'

export interface EmqxApiOptions {
  /** `http://emqx:18083`, without `/api/v5`. */
  readonly url: string
  readonly key: string
  readonly secret: string
  readonly warn: (message: string, about: object) => void
}

export interface EmqxSubscription {
  readonly topic: string
  readonly qos: 0 | 1 | 2
}

/** The part of EMQX's answers that is read. */
interface ClientPage {
  readonly data?: readonly ListedClient[]
  readonly meta?: { readonly hasnext?: boolean }
}
interface ListedClient {
  readonly clientid?: string
  readonly client_attrs?: { readonly device?: string }
}

interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: object
  /** Status codes besides 2xx that mean that nothing is left to do. */
  readonly doneCodes: readonly number[]
  /** Status codes other than 2xx whose body is returned to the caller. */
  readonly bodyCodes?: readonly number[]
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

  /** Ends the client's session, whether it is connected or not. */
  kick(clientId: string): Promise<unknown> {
    return this.#add({ method: 'DELETE', path: `clients/${clientId}`, doneCodes: [404] })
  }

  /** Ends the client's session and refuses it from then on, whatever credentials it shows. */
  async ban(clientId: string, reason: string): Promise<void> {
    const body = { as: 'clientid', who: clientId, by: 'fleet', reason }
    const call = { method: 'POST', path: 'banned', body, doneCodes: [], bodyCodes: [400] } as const
    if (!isTemporaryBan(await this.#add(call))) return
    await this.unban(clientId)
    await this.#add(call)
  }

  /** Lets the client connect again. */
  unban(clientId: string): Promise<unknown> {
    return this.#add({ method: 'DELETE', path: `banned/clientid/${clientId}`, doneCodes: [404] })
  }

  /** Subscriptions of the client's current session. Empty if there is none. */
  async subscriptions(clientId: string): Promise<readonly EmqxSubscription[]> {
    const answer = await this.#add({
      method: 'GET',
      path: `clients/${clientId}/subscriptions`,
      doneCodes: [404],
    })
    if (!Array.isArray(answer)) return []
    return answer.flatMap((each: Partial<EmqxSubscription>) =>
      typeof each.topic === 'string' && (each.qos === 0 || each.qos === 1 || each.qos === 2)
        ? [{ topic: each.topic, qos: each.qos }]
        : [],
    )
  }

  /** False if the device is not connected. */
  async isVerified(deviceId: DeviceId): Promise<boolean> {
    const client = await this.#add({ method: 'GET', path: `clients/${deviceId}`, doneCodes: [404] })
    return client !== undefined && isVerified(client as ListedClient)
  }

  /** Calls `found` for each device that is connected without the attribute that a verified token or certificate sets. */
  async findUnverified(found: (deviceId: DeviceId) => void): Promise<void> {
    for (let page = 1; ; page++) {
      const path = `clients?page=${page}&limit=${LIMITS.emqxApiPageMax}&fields=clientid,client_attrs`
      const answer = (await this.#add({ method: 'GET', path, doneCodes: [] })) as ClientPage | undefined
      for (const client of answer?.data ?? []) {
        const deviceId = parseDeviceId(client.clientid ?? '')
        if (deviceId !== undefined && !isVerified(client)) found(deviceId)
      }
      if (answer?.meta?.hasnext !== true) return
    }
  }

  close(): void {
    this.#stop.abort()
    for (const retry of this.#retries) clearTimeout(retry)
    for (const { settle } of this.#waiting.splice(0)) settle(undefined)
  }

  #add(call: Call): Promise<unknown> {
    if (this.waiting >= LIMITS.emqxApiWaitingMax) {
      this.#dropped++
      this.#options.warn(
        'too many calls wait for EMQX’s API, and one was dropped: a device may not be cut off',
        { path: call.path },
      )
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
        this.#options.warn('a call of EMQX’s API has failed and is tried again', {
          err: error,
          path: job.path,
        })
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

  async #call({ method, path, body, doneCodes, bodyCodes = [] }: Call): Promise<unknown> {
    const timeout = AbortSignal.timeout(LIMITS.emqxApiTimeoutMs)
    const response = await fetch(new URL(`/api/v5/${path}`, this.#options.url), {
      method,
      headers: { authorization: this.#authorization, 'content-type': 'application/json' },
      signal: AbortSignal.any([timeout, this.#stop.signal]),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (doneCodes.includes(response.status)) return undefined
    if (!response.ok && !bodyCodes.includes(response.status))
      throw new Error(`EMQX answers ${method} ${path} with ${response.status}`)
    return text === '' ? undefined : JSON.parse(text)
  }
}

function isVerified({ clientid, client_attrs: attributes }: ListedClient): boolean {
  return clientid !== undefined && attributes?.device === clientid
}

/**
 * Whether EMQX refused a ban because a temporary one exists. EMQX bans a client that connects too often for some minutes,
 * and does not replace that ban.
 */
function isTemporaryBan(answer: unknown): boolean {
  // One of EMQX's errors, or the ban that it made. The message of this error contains the earlier ban, as JSON.
  const { code, message } = (answer ?? {}) as { readonly code?: string; readonly message?: string }
  return code === 'ALREADY_EXISTS' && !message?.includes('"until":"infinity"')
}
